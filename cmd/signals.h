/* SPDX-License-Identifier: MIT
 *
 * signals.h: SIGINT and SIGTERM let a job finish what it has begun; the second one ends
 * the process at once. */
#ifndef CMD_SIGNALS_H
#define CMD_SIGNALS_H

#include "service/job.h"

/* From now on; NULL: not any more, and the signals end the process again. */
void signals_stop(struct job *job);
/* The signal that came, or 0. */
int signals_caught(void);

#endif
