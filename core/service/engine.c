/* SPDX-License-Identifier: MIT
 *
 * engine.c: implements bert.h: opens what the lower layers read, and hands texts to mlm.
 */
#include "base/bytes.h"
#include "base/cpu.h"
#include "base/path.h"
#include "base/utf8.h"
#include "kernel/tables.h"
#include "mlm/fill.h"
#include "mlm/score.h"
#include "mlm/words.h"
#include "model/loader.h"
#include "nn/backend.h"

#include <pthread.h>

struct bert_model {
    char *path, *name;
    struct model_file *file;
    struct tokenizer *tokenizer;
    const struct backend *backend; /* NULL: tokenizer only */
    void *handle;
    const char *device, *kernel;
    char reason[300];
};

struct bert_session {
    const struct bert_model *model;
    void *worker;
    struct mlm mlm;
    struct arena tokens;   /* of bert_tokenize */
    struct buffer decoded; /* of bert_decode */
};

/* ---- Machines -------------------------------------------------------------------- */

static char kernel_names[300];

static void list_kernels(void) {
    size_t used = 0;
    const char *name;
    for (int i = 0; (name = kernel_name(i)) != NULL && used < sizeof kernel_names; i++)
        if (kernel_select(name))
            used += (size_t)snprintf(kernel_names + used, sizeof kernel_names - used,
                                     "%s%s", used ? " " : "", name);
}

const char *bert_kernels(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_kernels);
    return kernel_names;
}

static enum bert_status find_kernel(const char *cpu, const char **name,
                                    struct bert_error *error) {
    const struct kernel_table *table = kernel_select(cpu);
    if (!table)
        return error_set(error, BERT_USAGE,
                         "'%s' is no kernel of this machine, which has: %s",
                         cpu ? cpu : "", bert_kernels());
    *name = table->name;
    return BERT_OK;
}

enum bert_status bert_machine(struct bert_machine *machine, const char *cpu,
                              struct bert_error *error) {
    *machine = (struct bert_machine){.blis = blis_family()};
    enum bert_status status = find_kernel(cpu, &machine->kernel, error);
    if (status != BERT_OK)
        return status;
    struct backend_options options = {.cpu = cpu};
    char why[250] = "";
    const struct backend *cuda = backend_load("cuda", why, sizeof why);
    if (cuda && cuda->probe(&options, why, sizeof why) > 0)
        snprintf(machine->cuda, sizeof machine->cuda, "yes");
    else
        snprintf(machine->cuda, sizeof machine->cuda, "no (%s)", why);
    return BERT_OK;
}

/* ---- Devices --------------------------------------------------------------------- */

/* "cuda" or "cuda:N" */
static bool read_index(const char *device, int *index) {
    if (strncmp(device, "cuda", 4) != 0)
        return false;
    *index = 0;
    if (device[4] == '\0')
        return true;
    size_t digits = strspn(device + 5, "0123456789");
    if (device[4] != ':' || digits == 0 || digits > 4 || device[5 + digits] != '\0')
        return false;
    *index = (int)strtol(device + 5, NULL, 10);
    return true;
}

static enum bert_status open_backend(struct bert_model *model,
                                     const struct backend *backend,
                                     const struct backend_options *options,
                                     struct bert_error *error) {
    enum bert_status status = backend->open(&model->handle, loader_weights(model->file),
                                            options, &model->device, error);
    if (status == BERT_OK)
        model->backend = backend;
    return status;
}

/* Tries CUDA; why is filled when it does not answer. */
static enum bert_status open_cuda(struct bert_model *model,
                                  struct backend_options *options, char *why,
                                  size_t size) {
    const struct backend *cuda = backend_load("cuda", why, size);
    if (!cuda || cuda->probe(options, why, size) <= 0)
        return BERT_INTERNAL;
    struct bert_error error = {0};
    enum bert_status status = open_backend(model, cuda, options, &error);
    if (status != BERT_OK)
        snprintf(why, size, "%.190s", error.message);
    return status;
}

static enum bert_status open_device(struct bert_model *model,
                                    const struct bert_open_options *options,
                                    struct bert_error *error) {
    const char *device = options->device ? options->device : "cpu";
    struct backend_options backend = {.cpu = options->cpu};
    char why[200] = "";
    bool automatic = strcmp(device, "auto-cuda") == 0;
    bool cpu = strcmp(device, "cpu") == 0 || strcmp(device, "auto-cpu") == 0;
    if (!cpu && !automatic && !read_index(device, &backend.device))
        return error_set(error, BERT_USAGE, "'%s' is not cpu, cuda or cuda:N", device);
    if (!cpu) {
        enum bert_status status = open_cuda(model, &backend, why, sizeof why);
        if (status == BERT_OK || !automatic) {
            snprintf(model->reason, sizeof model->reason, "%s",
                     automatic ? "it is there" : "as asked");
            return status == BERT_OK
                       ? status
                       : error_set(error, BERT_INTERNAL, "no CUDA: %s", why);
        }
    }
    if (automatic)
        snprintf(model->reason, sizeof model->reason, "no CUDA: %s", why);
    else
        snprintf(model->reason, sizeof model->reason, "%s",
                 strcmp(device, "cpu") == 0 ? "as asked"
                                            : "it answers single texts soonest");
    return open_backend(model, &backend_cpu, &backend, error);
}

/* ---- Models ---------------------------------------------------------------------- */

static char *name_of(const char *path) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    if (end - start > 5 && strncmp(path + end - 5, ".bert", 5) == 0)
        end -= 5;
    return strndup(path + start, end - start);
}

static enum bert_status open_tokenizer(struct bert_model *model,
                                       const struct bert_open_options *options,
                                       struct bert_error *error) {
    const struct tokenizer_settings *settings = loader_tokenizer(model->file);
    struct tokenizer_options tokenizer = {.lower_case = settings->lower_case,
                                          .strip_accents = settings->strip_accents,
                                          .split_chinese = settings->split_chinese,
                                          .note = options->note,
                                          .note_arg = options->note_arg};
    return tokenizer_new(&model->tokenizer, loader_vocabulary(model->file), &tokenizer,
                         error);
}

static enum bert_status open_parts(struct bert_model *model,
                                   const struct bert_open_options *options,
                                   struct bert_error *error) {
    struct loader_options loader = {.precision = options->precision,
                                    .no_mmap = options->no_mmap,
                                    .tokenizer_only = options->tokenizer_only,
                                    .note = options->note,
                                    .note_arg = options->note_arg};
    enum bert_status status = find_kernel(options->cpu, &model->kernel, error);
    if (status == BERT_OK)
        status = path_find_model(&model->path, options->model, options->prefix, error);
    if (status == BERT_OK && !(model->name = name_of(model->path)))
        status = error_memory(error);
    if (status == BERT_OK)
        status = loader_open(&model->file, model->path, &loader, error);
    if (status == BERT_OK)
        status = open_tokenizer(model, options, error);
    if (status == BERT_OK && !options->tokenizer_only)
        status = open_device(model, options, error);
    return status;
}

enum bert_status bert_open(struct bert_model **model,
                           const struct bert_open_options *options,
                           struct bert_error *error) {
    *model = calloc(1, sizeof **model);
    if (!*model)
        return error_memory(error);
    enum bert_status status = open_parts(*model, options, error);
    if (status != BERT_OK) {
        bert_close(*model);
        *model = NULL;
    }
    return status;
}

void bert_close(struct bert_model *model) {
    if (!model)
        return;
    if (model->backend)
        model->backend->close(model->handle);
    tokenizer_free(model->tokenizer);
    loader_close(model->file);
    free(model->path);
    free(model->name);
    free(model);
}

/* A device wants full passes: as many tokens as one takes, less the text too many that a
 * caller may notice late. */
static size_t batch_tokens(const struct bert_model *model, size_t positions) {
    size_t good = 0, rows, requests;
    void *worker;
    if (model->backend == &backend_cpu ||
        model->backend->worker_new(&worker, model->handle, 1, NULL) != BERT_OK)
        return 0;
    model->backend->limits(worker, &good, &rows, &requests);
    model->backend->worker_free(worker);
    return good > 2 * positions ? good - positions : good;
}

void bert_model_info(const struct bert_model *model, struct bert_info *info) {
    struct loader_facts facts = {0};
    const struct weights *weights = loader_weights(model->file);
    loader_facts(model->file, &facts);
    *info = (struct bert_info){.path = model->path,
                               .name = model->name,
                               .source = facts.source,
                               .license = facts.license,
                               .device = model->device ? model->device : "none",
                               .device_reason = model->reason,
                               .kernel = model->kernel,
                               .vocabulary = tokenizer_size(model->tokenizer),
                               .lower_case = loader_tokenizer(model->file)->lower_case,
                               .identity = facts.identity};
    if (!weights)
        return;
    const struct model_config *config = &weights->config;
    info->precision = weights->precision;
    info->layers = config->layers;
    info->hidden = config->hidden;
    info->heads = config->heads;
    info->intermediate = config->intermediate;
    info->positions = config->positions;
    if (model->backend)
        info->batch_tokens = batch_tokens(model, (size_t)config->positions);
}

const char *bert_token(const struct bert_model *model, int32_t id) {
    return tokenizer_entry(model->tokenizer, id);
}

/* ---- Sessions -------------------------------------------------------------------- */

static enum bert_status session_worker(struct bert_session *session, int threads,
                                       struct bert_error *error) {
    const struct bert_model *model = session->model;
    const struct model_config *config = &loader_weights(model->file)->config;
    struct mlm *mlm = &session->mlm;
    mlm->positions = (size_t)config->positions;
    mlm->rows = (size_t)config->vocabulary;
    enum bert_status status =
        model->backend->worker_new(&session->worker, model->handle, threads, error);
    if (status == BERT_OK)
        status = packer_init(&mlm->packer, model->backend, session->worker,
                             mlm->positions, error);
    return status;
}

enum bert_status bert_session_new(struct bert_session **session, struct bert_model *model,
                                  int threads, struct bert_error *error) {
    *session = calloc(1, sizeof **session);
    if (!*session)
        return error_memory(error);
    (*session)->model = model;
    (*session)->mlm.tokenizer = model->tokenizer;
    enum bert_status status = BERT_OK;
    if (model->backend)
        status =
            session_worker(*session, threads > 0 ? threads : cpu_usable_cores(), error);
    if (status != BERT_OK) {
        bert_session_free(*session);
        *session = NULL;
    }
    return status;
}

void bert_session_free(struct bert_session *session) {
    if (!session)
        return;
    packer_release(&session->mlm.packer);
    if (session->worker)
        session->model->backend->worker_free(session->worker);
    arena_release(&session->mlm.results);
    arena_release(&session->mlm.scratch);
    arena_release(&session->mlm.step);
    arena_release(&session->tokens);
    buffer_release(&session->decoded);
    free(session);
}

/* A call that needs weights begins; what the last one left is forgotten. */
static enum bert_status begin(struct bert_session *session, struct bert_error *error) {
    if (!session->worker)
        return error_set(error, BERT_USAGE,
                         "the model was opened for its tokenizer alone");
    arena_reset(&session->mlm.results);
    arena_reset(&session->mlm.scratch);
    arena_reset(&session->mlm.step);
    packer_drop(&session->mlm.packer);
    return BERT_OK;
}

/* ---- Tokenizing ------------------------------------------------------------------ */

/* Puts [CLS] and [SEP] around. */
static enum bert_status add_special(struct bert_session *session, struct token_list *list,
                                    size_t length, struct bert_error *error) {
    const struct special_ids *special = tokenizer_special(session->model->tokenizer);
    size_t count = list->count;
    int32_t *ids = arena_array(&session->tokens, count + 2, sizeof *ids);
    size_t *starts = arena_array(&session->tokens, count + 2, sizeof *starts);
    size_t *ends = arena_array(&session->tokens, count + 2, sizeof *ends);
    if (!ids || !starts || !ends)
        return error_memory(error);
    ids[0] = special->cls;
    for (size_t i = 0; i < count; i++) {
        ids[i + 1] = list->ids[i];
        starts[i + 1] = list->starts[i];
        ends[i + 1] = list->ends[i];
    }
    ids[count + 1] = special->sep;
    starts[count + 1] = ends[count + 1] = length;
    *list = (struct token_list){count + 2, list->unknown, ids, starts, ends};
    return BERT_OK;
}

enum bert_status bert_tokenize(struct bert_session *session, const char *text,
                               size_t length, unsigned flags, struct bert_tokens *tokens,
                               struct bert_error *error) {
    struct tokenize_options options = {.literal = flags & BERT_LITERAL};
    struct token_list list = {0};
    size_t valid = utf8_valid_prefix(text, length);
    if (valid < length)
        return error_set(error, BERT_RECORD, "invalid UTF-8 at byte %zu", valid + 1);
    arena_reset(&session->tokens);
    enum bert_status status = tokenizer_run(session->model->tokenizer, text, length,
                                            &options, &session->tokens, &list, error);
    if (status == BERT_OK && flags & BERT_SPECIAL)
        status = add_special(session, &list, length, error);
    *tokens =
        (struct bert_tokens){list.count, list.unknown, list.ids, list.starts, list.ends};
    return status;
}

enum bert_status bert_decode(struct bert_session *session, const int32_t *ids,
                             size_t count, bool skip_special, const char **text,
                             struct bert_error *error) {
    session->decoded.size = 0;
    enum bert_status status =
        tokenizer_decode(session->model->tokenizer, ids, count, skip_special, true,
                         &session->decoded, error);
    if (status != BERT_OK)
        return status;
    *text = buffer_text(&session->decoded);
    return *text ? BERT_OK : error_memory(error);
}

/* ---- Filling and scoring --------------------------------------------------------- */

/* Every word's probability in a text, by a session of its own. */
static enum bert_status set_baseline(struct bert_words *words,
                                     const struct bert_model *model, const char *baseline,
                                     struct bert_error *error) {
    struct bert_session *session;
    enum bert_status status =
        bert_session_new(&session, (struct bert_model *)model, 0, error);
    if (status != BERT_OK)
        return status;
    status = begin(session, error);
    if (status == BERT_OK)
        status = words_baseline(words, &session->mlm, span_of(baseline), error);
    bert_session_free(session);
    return status;
}

enum bert_status bert_words_new(struct bert_words **words, const struct bert_model *model,
                                const char *list, size_t length, bool lines,
                                const char *baseline, struct bert_error *error) {
    *words = NULL;
    const struct weights *weights = loader_weights(model->file);
    if (!weights)
        return error_set(error, BERT_USAGE,
                         "the model was opened for its tokenizer alone");
    size_t positions = (size_t)weights->config.positions;
    enum bert_status status =
        wordlist_new(words, model->tokenizer, positions > 2 ? positions - 2 : 0,
                     (struct span){list, length}, lines, error);
    if (status == BERT_OK && baseline)
        status = set_baseline(*words, model, baseline, error);
    if (status != BERT_OK) {
        wordlist_free(*words);
        *words = NULL;
    }
    return status;
}

void bert_words_free(struct bert_words *words) {
    wordlist_free(words);
}

size_t bert_words_count(const struct bert_words *words) {
    return words->count;
}

size_t bert_words_cost(const struct bert_words *words, size_t tokens) {
    size_t cost = 0;
    for (size_t i = 0; i < words->group_count; i++) {
        const struct word_group *group = &words->groups[i];
        cost += (group->end - group->root) * (tokens + (size_t)group->length);
    }
    return cost;
}

bool bert_words_labelled(const struct bert_words *words) {
    return words->label_count > 0;
}

enum bert_status bert_fill(struct bert_session *session, const struct bert_text *texts,
                           size_t count, const struct bert_fill_options *options,
                           struct bert_result *results, struct bert_error *error) {
    static const struct bert_fill_options none = {0};
    enum bert_status status = begin(session, error);
    if (status == BERT_OK)
        status = fill_texts(&session->mlm, texts, count, options ? options : &none,
                            results, error);
    return status;
}

enum bert_status bert_score(struct bert_session *session, const struct bert_text *texts,
                            size_t count, const struct bert_score_options *options,
                            struct bert_score *scores, struct bert_error *error) {
    static const struct bert_score_options none = {0};
    enum bert_status status = begin(session, error);
    if (status == BERT_OK)
        status = score_texts(&session->mlm, texts, count, options ? options : &none,
                             scores, error);
    return status;
}
