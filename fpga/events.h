/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the driver of simulated FPGAs tells beyond OpenCL; another driver answers
 * CL_INVALID_VALUE. Of a command, for clGetEventInfo(), each a cl_ulong, 0 before the
 * command is complete:
 */
#ifndef FPGA_EVENTS_H
#define FPGA_EVENTS_H

/** Clocks that a kernel took; 0 for other commands. */
#define CL_EVENT_CLOCKS_HEDDLE 0x4f00
/** Nanoseconds that the command takes on the modelled board: the kernel's clocks at the
 * board's clock, or the transfer's latency and bytes. */
#define CL_EVENT_MODELLED_HEDDLE 0x4f01
/** Nanoseconds that it took here. */
#define CL_EVENT_TAKEN_HEDDLE 0x4f02

/** For clGetDeviceInfo(), a cl_ulong: nanoseconds that all commands so far take on the
 * modelled board, one after the other. */
#define CL_DEVICE_MODELLED_HEDDLE 0x4f03

#endif
