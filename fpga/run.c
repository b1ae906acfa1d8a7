/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "fpga/run.h"

/* Where a stream is on its bus and in memory. */
struct progress {
	uint32_t lane; /* of its first byte on the bus */
	uint32_t beat;
	uint64_t done, bytes;
	bool offered; /* an input's beat is on the bus, and stays until it is taken */
	bool ended;
};

struct streams {
	uint32_t n;
	struct progress at[FPGA_MAX_STREAMS];
};

static void streams_begin(struct streams *streams, uint32_t n, const struct fpga_stream *of,
                          uint64_t items)
{
	uint32_t lane = 0;

	*streams = (struct streams){.n = n};
	for (uint32_t s = 0; s < n; s++) {
		streams->at[s] = (struct progress){.lane = lane,
		                                   .beat = of[s].beat_bytes,
		                                   .bytes = fpga_stream_bytes(&of[s], items)};
		lane += of[s].beat_bytes;
	}
}

static bool streams_done(const struct streams *streams)
{
	for (uint32_t s = 0; s < streams->n; s++)
		if (!streams->at[s].ended)
			return false;
	return true;
}

static uint32_t progress_beat(const struct progress *at)
{
	return at->bytes - at->done < at->beat ? at->bytes - at->done : at->beat;
}

/* Puts the next beat of each input on the bus. An input without bytes has one beat of
 * none, which says that it ends. */
static void offer(struct streams *inputs, const struct fpga_run *run, uint32_t pauses,
                  struct fpga_signals *signals)
{
	for (uint32_t s = 0; s < inputs->n; s++) {
		struct progress *at = &inputs->at[s];
		uint32_t size = progress_beat(at), bit = 1u << s;

		if (at->ended || at->offered || (pauses & bit))
			continue;
		if (size)
			memcpy(signals->s_tdata + at->lane, run->inputs[s] + at->done, size);
		signals->s_tkeep &= ~(((1ull << at->beat) - 1) << at->lane);
		signals->s_tkeep |= ((1ull << size) - 1) << at->lane;
		signals->s_tvalid |= bit;
		if (at->done + size == at->bytes)
			signals->s_tlast |= bit;
		at->offered = true;
	}
}

/* Whether any input's beat was taken. */
static bool taken(struct streams *inputs, struct fpga_signals *signals)
{
	uint32_t moved = signals->s_tvalid & signals->s_tready;

	for (uint32_t s = 0; s < inputs->n; s++) {
		struct progress *at = &inputs->at[s];

		if (!(moved >> s & 1))
			continue;
		at->done += progress_beat(at);
		at->ended = at->done == at->bytes;
		at->offered = false;
	}
	signals->s_tvalid &= ~moved;
	signals->s_tlast &= ~moved;
	return moved;
}

/* 1: a beat came; 0: none; -EPROTO. */
static int collect(struct streams *outputs, const struct fpga_run *run,
                   const struct fpga_signals *signals)
{
	uint32_t moved = signals->m_tvalid & signals->m_tready;

	for (uint32_t s = 0; s < outputs->n; s++) {
		struct progress *at = &outputs->at[s];
		uint32_t size = progress_beat(at);

		if (!(moved >> s & 1))
			continue;
		if (at->ended)
			return -EPROTO;
		memcpy(run->outputs[s] + at->done, signals->m_tdata + at->lane, size);
		at->done += size;
		at->ended = signals->m_tlast >> s & 1;
		if (at->ended != (at->done == at->bytes))
			return -EPROTO;
	}
	return moved != 0;
}

void fpga_reset(const struct fpga_design *design, void *instance)
{
	struct fpga_signals signals = {.reset = 1};

	for (int clock = 0; clock < 4; clock++)
		design->clock(instance, &signals);
}

int fpga_run(const struct fpga_design *design, void *instance, struct fpga_run *run)
{
	struct fpga_signals signals = {0};
	struct streams inputs, outputs;
	uint64_t idle = 0;

	streams_begin(&inputs, design->ninputs, design->inputs, run->items);
	streams_begin(&outputs, design->noutputs, design->outputs, run->items);
	memcpy(signals.registers, run->registers, sizeof(signals.registers));
	run->status = 0;
	for (run->clocks = 0; !streams_done(&inputs) || !streams_done(&outputs); run->clocks++) {
		uint32_t pauses = run->pauses ? run->pauses(run->arg) : 0;
		bool moved;
		int came;

		if (run->stop_after && run->clocks == run->stop_after)
			return -ECANCELED;
		offer(&inputs, run, pauses, &signals);
		signals.m_tready = ~(pauses >> 16) & ((1u << outputs.n) - 1);
		design->clock(instance, &signals);
		run->status = signals.status;
		moved = taken(&inputs, &signals);
		came = collect(&outputs, run, &signals);
		if (came < 0)
			return came;
		idle = moved || came ? 0 : idle + 1;
		if (idle == run->patience)
			return -ETIMEDOUT;
	}
	return run->status ? -EINVAL : 0;
}

static int streams_check(uint32_t n, const struct fpga_stream *streams)
{
	uint32_t width = 0;

	if (!n || n > FPGA_MAX_STREAMS)
		return -EINVAL;
	for (uint32_t s = 0; s < n; s++) {
		/* A shift by the width of tkeep would not be one. */
		if (!streams[s].beat_bytes || streams[s].beat_bytes >= FPGA_MAX_BYTES)
			return -EINVAL;
		width += streams[s].beat_bytes;
	}
	return width <= FPGA_MAX_BYTES ? 0 : -EINVAL;
}

int fpga_design_check(const struct fpga_design *design)
{
	if (design->magic != FPGA_DESIGN_MAGIC || design->version != FPGA_DESIGN_VERSION ||
	    !design->name || !design->clock_khz || !design->create || !design->destroy ||
	    !design->clock || design->nregisters > FPGA_MAX_REGISTERS ||
	    design->narguments > FPGA_MAX_ARGUMENTS ||
	    streams_check(design->ninputs, design->inputs) ||
	    streams_check(design->noutputs, design->outputs))
		return -EINVAL;
	for (uint32_t a = 0; a < design->narguments; a++) {
		const struct fpga_argument *argument = &design->arguments[a];

		if (argument->use > FPGA_OFFSET || argument->input >= (int)design->ninputs ||
		    argument->output >= (int)design->noutputs ||
		    (argument->use == FPGA_REGISTER &&
		     (argument->which < 0 || argument->which >= (int)design->nregisters)))
			return -EINVAL;
	}
	return 0;
}
