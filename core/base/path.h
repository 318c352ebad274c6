/* SPDX-License-Identifier: MIT
 *
 * path.h: paths and where things are found. Returned strings are malloc'ed; NULL without
 * memory or when there is none. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/bytes.h"

#include <stdbool.h>

char *path_join(const char *folder, const char *name);
bool path_exists(const char *path);
bool path_is_folder(const char *path);
/* The folder of the running program, symbolic links resolved. */
char *path_program_folder(void);

#endif
