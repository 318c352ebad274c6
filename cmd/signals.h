/* SPDX-License-Identifier: MIT
 *
 * signals.h: SIGINT and SIGTERM let a program finish or clean up what it has begun; the
 * second one ends the process at once. */
#ifndef CMD_SIGNALS_H
#define CMD_SIGNALS_H

#include "service/job.h"

/* From now on they are caught, and stop the job if there is one. */
void signals_catch(struct job *job);
/* Not any more: they end the process again. */
void signals_release(void);
/* The signal that came, or 0. */
int signals_caught(void);

#endif
