/* SPDX-License-Identifier: MIT
 *
 * path.h: paths and where things are found. Returned strings are malloc'ed; NULL without
 * memory or when there is none. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/bytes.h"
#include "base/status.h"

#include <stdbool.h>

char *path_join(const char *folder, const char *name);
bool path_exists(const char *path);
bool path_is_folder(const char *path);
/* Brings the folder of a file that was made or renamed there to the disk, so that its new
 * name outlives a power cut. -1 with errno when the disk fails; a folder that cannot be
 * read, or is on a file system without this, counts as done. */
int path_sync_folder(const char *path);
/* The folder of the running program, symbolic links resolved. */
char *path_program_folder(void);

/* Finds a model. A value with a slash, ending in .bert, or . or .. is a path, taken as it
 * is. Any other is a name, NAME.bert or a folder NAME, searched in BERT_MODEL_DIRS,
 * $XDG_DATA_HOME/bert-tools/models, each $XDG_DATA_DIRS/bert-tools/models, the build tree
 * or installation of the running program, PREFIX/share/bert-tools/models. NULL or an
 * empty value is the model that ships, looked for beside the program first. BERT_MODEL,
 * with the command that makes a model and the places tried, when there is none. */
enum bert_status path_find_model(char **found, const char *model, const char *prefix,
                                 struct bert_error *error);

#endif
