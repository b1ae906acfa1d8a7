/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a wavefront leaves behind: a CSV line a tile (HEDDLE_TILE_LOG).
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/log.h"
#include "support/message.h"
#include "wavefront_private.h"

struct wave_record {
	unsigned worker;
	struct heddle_tile tile;
	double begin_us, end_us;
};

void wave_log_tile(struct heddle_wavefront_request *wave, const struct wave_tile *tile,
                   const struct wave_worker *worker, double begin_us, double end_us)
{
	if (!wave->logged)
		return;
	if (wave->nrecords == wave->records_room) {
		size_t room = wave->records_room ? 2 * wave->records_room : 256;
		struct wave_record *grown = realloc(wave->records, room * sizeof(*grown));

		if (!grown) {
			wave->nunlogged++;
			return;
		}
		wave->records = grown;
		wave->records_room = room;
	}
	wave->records[wave->nrecords++] =
	    (struct wave_record){worker->index, tile->given, begin_us, end_us};
}

static void record_print(const struct heddle_wavefront_request *wave,
                         const struct wave_record *record, FILE *file)
{
	const struct heddle_worker_stats *worker = &wave->workers[record->worker].stats;

	fprintf(file, "%s,%d,%s,%zu,%zu,%td,%zu,%zu,%zu,%.3f,%.3f,%zu\n", wave->name, worker->id,
	        heddle_kind_name(worker->kind), record->tile.row, record->tile.rows,
	        record->tile.column, record->tile.columns, record->tile.skew, record->tile.sweep,
	        record->begin_us - wave->start_us, record->end_us - wave->start_us,
	        wave->space.columns);
}

void wave_log_write(struct heddle_wavefront_request *wave)
{
	struct heddle_log log;

	if (!wave->logged ||
	    heddle_log_open(&log, HEDDLE_VARIABLE_TILE_LOG,
	                    "wavefront,worker,kind,row,rows,column,columns,skew,sweep,begin_us,"
	                    "end_us,total_columns"))
		return;
	for (size_t r = 0; r < wave->nrecords; r++)
		record_print(wave, &wave->records[r], log.file);
	heddle_log_close(&log);
	if (wave->nunlogged)
		heddle_warn("%s: %s: no memory for %zu tiles of wavefront %s", log.variable,
		            log.path, wave->nunlogged, wave->name);
}
