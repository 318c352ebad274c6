/* SPDX-License-Identifier: MIT
 *
 * replay.c: runs a fuzz target over a folder of saved inputs without libFuzzer, so that
 * `make check` goes through all of them with any compiler. */
#include "base/mapping.h"
#include "base/path.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool replay(const char *folder, const char *name) {
    char *path = path_join(folder, name);
    struct mapping file;
    struct bert_error error;
    bool read = path != NULL && mapping_open(&file, path, true, &error) == BERT_OK;
    if (read) {
        LLVMFuzzerTestOneInput(file.data, file.size);
        mapping_close(&file);
    } else
        fprintf(stderr, "%s\n", path ? error.message : "out of memory");
    free(path);
    return read;
}

int main(int argc, char **argv) {
    size_t passed = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder == NULL) {
            perror(argv[i]);
            failed++;
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
            if (entry->d_name[0] != '.')
                replay(argv[i], entry->d_name) ? passed++ : failed++;
        closedir(folder);
    }
    if (passed + failed == 0) {
        fprintf(stderr, "no inputs\n");
        failed++;
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed != 0;
}
