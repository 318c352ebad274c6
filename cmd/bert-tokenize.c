/* SPDX-License-Identifier: MIT
 *
 * bert-tokenize.c: cuts texts into tokens as Hugging Face's fast BertTokenizer does, and
 * joins ids to text again. */
#include "stream.h"

#include "base/utf8.h"
#include "io/json.h"

enum shape { SHAPE_TOKENS, SHAPE_IDS, SHAPE_COUNT, SHAPE_JSONL };

struct args {
    int to; /* enum shape */
    bool ids, count, special, literal, decode, byte_offsets;
};

#define FIELD(name) offsetof(struct args, name)
static const struct cli_option rows[] = {
    {CLI_GROUP, .help = "Tokens"},
    {CLI_CHOICE, "to", 0, "SHAPE",
     "tokens (the default), ids, count, or jsonl (text, tokens, ids, offsets, unknown)",
     FIELD(to), .choices = "tokens ids count jsonl"},
    {CLI_FLAG, "ids", 0, NULL, "the same as --to=ids", FIELD(ids), .excludes = "to"},
    {CLI_FLAG, "count", 0, NULL, "the same as --to=count", FIELD(count),
     .excludes = "to ids"},
    {CLI_FLAG, "special", 0, NULL, "add [CLS] and [SEP]", FIELD(special)},
    {CLI_FLAG, "literal", 0, NULL,
     "[MASK], [SEP] and the like in the text are plain characters", FIELD(literal)},
    {CLI_FLAG, "byte-offsets", 0, NULL, "offsets in bytes, not code points (jsonl)",
     FIELD(byte_offsets)},
    {CLI_FLAG, "decode", 0, NULL, "records are ids, which become text again",
     FIELD(decode)},
    {CLI_END}};
#undef FIELD

static const struct cli_program program = {
    .name = "bert-tokenize",
    .summary = "cuts text into the tokens of a BERT model",
    .operands = "[FILE...]",
    .examples = {"echo '今天天气真[MASK]啊' | bert-tokenize --to=jsonl",
                 "bert-tokenize --count -c review reviews.csv"},
    .notes = "Without FILE, or for -, standard input is read. A record gives a line of\n"
             "tokens (ids, a count) separated by blanks; one that fails an empty line.\n"
             "Exit status: 0 all done, 1 some records failed, 2 usage, 3 model, 4 I/O,\n"
             "5 memory."};

/* ---- Text to tokens ---------------------------------------------------------------- */

/* printf would take more time than tokenizing. */
static void put_number(struct buffer *out, size_t number) {
    char digits[24], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    buffer_add(out, at, (size_t)(digits + sizeof digits - at));
}

struct place { /* a byte of a text and the code points before it */
    size_t byte, codepoints;
};

static void move(struct place *place, const char *text, size_t byte) {
    if (byte < place->byte)
        *place = (struct place){0};
    place->codepoints += utf8_count(text + place->byte, byte - place->byte);
    place->byte = byte;
}

static void put_offsets(struct buffer *out, const struct bert_tokens *tokens,
                        const char *text, bool bytes) {
    struct place start = {0};
    for (size_t i = 0; i < tokens->count; i++) {
        size_t from = tokens->starts[i], to = tokens->ends[i];
        if (from == to) /* added, not in the text: Hugging Face says 0, 0 */
            from = to = 0;
        if (!bytes && to > from) {
            move(&start, text, from);
            size_t codepoints = utf8_count(text + from, to - from);
            from = start.codepoints;
            to = from + codepoints;
        }
        buffer_add_text(out, i > 0 ? ",[" : "[");
        put_number(out, from);
        buffer_add_byte(out, ',');
        put_number(out, to);
        buffer_add_byte(out, ']');
    }
}

static void put_object(struct buffer *out, const struct bert_model *model,
                       const struct bert_text *text, const struct bert_tokens *tokens,
                       bool byte_offsets) {
    buffer_add_text(out, "{\"text\":");
    json_put_text(out, text->bytes, text->length);
    buffer_add_text(out, ",\"tokens\":[");
    for (size_t i = 0; i < tokens->count; i++) {
        const char *token = bert_token(model, tokens->ids[i]);
        buffer_add_text(out, i > 0 ? "," : "");
        json_put_text(out, token, strlen(token));
    }
    buffer_add_text(out, "],\"ids\":[");
    for (size_t i = 0; i < tokens->count; i++) {
        buffer_add_text(out, i > 0 ? "," : "");
        put_number(out, (size_t)tokens->ids[i]);
    }
    buffer_add_text(out, "],\"offsets\":[");
    put_offsets(out, tokens, text->bytes, byte_offsets);
    buffer_printf(out, "],\"unknown\":%zu}\n", tokens->unknown);
}

static void put_line(struct buffer *out, const struct bert_model *model,
                     const struct bert_tokens *tokens, enum shape shape) {
    if (shape == SHAPE_COUNT)
        put_number(out, tokens->count);
    for (size_t i = 0; i < tokens->count && shape != SHAPE_COUNT; i++) {
        if (i > 0)
            buffer_add_byte(out, ' ');
        if (shape == SHAPE_IDS)
            put_number(out, (size_t)tokens->ids[i]);
        else
            buffer_add_text(out, bert_token(model, tokens->ids[i]));
    }
    buffer_add_byte(out, '\n');
}

/* ---- Ids to text ------------------------------------------------------------------- */

static bool is_separator(char c) {
    return c == ' ' || c == '\t' || c == ',' || c == '\r' || c == '\n';
}

static enum bert_status add_id(struct buffer *ids, const char *word, size_t size,
                               struct bert_error *error) {
    int64_t id = 0;
    for (size_t i = 0; i < size; i++) {
        if (word[i] < '0' || word[i] > '9' || id > INT32_MAX)
            return error_set(error, BERT_RECORD, "'%.*s' is no id",
                             size < 40 ? (int)size : 40, word);
        id = 10 * id + (word[i] - '0');
    }
    int32_t small = id > INT32_MAX ? INT32_MAX : (int32_t)id;
    buffer_add(ids, &small, sizeof small);
    return BERT_OK;
}

/* Appends the ids of a line, as int32_t, to ids. */
static enum bert_status read_ids(const struct bert_text *text, struct buffer *ids,
                                 struct bert_error *error) {
    for (size_t at = 0, end; at < text->length; at = end) {
        end = at + 1;
        if (is_separator(text->bytes[at]))
            continue;
        while (end < text->length && !is_separator(text->bytes[end]))
            end++;
        enum bert_status status = add_id(ids, text->bytes + at, end - at, error);
        if (status != BERT_OK)
            return status;
    }
    return ids->failed ? error_memory(error) : BERT_OK;
}

static enum bert_status decode(struct bert_session *session, const struct bert_text *text,
                               struct buffer *ids, struct buffer *out,
                               struct bert_error *error) {
    const char *decoded;
    ids->size = 0;
    enum bert_status status = read_ids(text, ids, error);
    if (status == BERT_OK)
        status = bert_decode(session, (const int32_t *)(const void *)ids->data,
                             ids->size / sizeof(int32_t), false, &decoded, error);
    if (status != BERT_OK)
        return status;
    buffer_add_text(out, decoded);
    buffer_add_byte(out, '\n');
    return BERT_OK;
}

/* ---- The stream -------------------------------------------------------------------- */

struct work {
    const struct bert_model *model;
    const struct args *args;
    enum shape shape;
};

static enum bert_status tokenize(const struct work *work, struct bert_session *session,
                                 const struct bert_text *text, struct buffer *out,
                                 struct bert_error *error) {
    const struct args *args = work->args;
    unsigned flags =
        (args->special ? BERT_SPECIAL : 0u) | (args->literal ? BERT_LITERAL : 0u);
    struct bert_tokens tokens;
    enum bert_status status =
        bert_tokenize(session, text->bytes, text->length, flags, &tokens, error);
    if (status != BERT_OK)
        return status;
    if (work->shape == SHAPE_JSONL)
        put_object(out, work->model, text, &tokens, args->byte_offsets);
    else
        put_line(out, work->model, &tokens, work->shape);
    return BERT_OK;
}

static enum bert_status process(void *arg, struct bert_session *session,
                                const struct bert_text *texts,
                                struct job_answer *const *answers, size_t count,
                                struct bert_error *error) {
    const struct work *work = arg;
    struct buffer ids = {0};
    enum bert_status status = BERT_OK;
    for (size_t i = 0; i < count && status == BERT_OK; i++) {
        struct buffer *out = &answers[i]->out;
        struct bert_error why = {0};
        status = work->args->decode ? decode(session, &texts[i], &ids, out, &why)
                                    : tokenize(work, session, &texts[i], out, &why);
        if (status == BERT_RECORD) {
            job_fail(answers[i], why.message);
            status = BERT_OK;
        } else if (status != BERT_OK) {
            error_set(error, status, "%s", why.message);
        }
    }
    buffer_release(&ids);
    return status;
}

static void write_record(void *arg, const struct record *record, struct span text,
                         struct span answer, const char *why, struct sink *sink) {
    const struct work *work = arg;
    if (why && work->shape == SHAPE_JSONL)
        stream_write_object(record, text, answer, why, sink);
    else if (why)
        sink_text(sink, "\n");
    else
        sink_write(sink, answer.data, answer.size);
}

static bool check_args(struct cli *cli, const struct args *args) {
    bool shaped = args->to != SHAPE_TOKENS;
    if (args->decode && (args->ids || args->count || shaped || args->special ||
                         args->literal || args->byte_offsets))
        cli_usage(cli, "--decode goes with no other option of this group");
    else
        return true;
    return false;
}

static void run(struct cli *cli, const struct args *args,
                const struct record_options *records,
                const struct common_options *common) {
    if (!check_args(cli, args))
        return;
    struct bert_model *model = common_options_open(cli, common, OPEN_TOKENIZER);
    if (!model)
        return;
    struct work work = {model, args,
                        args->ids     ? SHAPE_IDS
                        : args->count ? SHAPE_COUNT
                                      : (enum shape)args->to};
    struct stream stream = {.cli = cli,
                            .common = common,
                            .records = records,
                            .model = model,
                            .column = records->column,
                            .batch_tokens = 1 << 16,
                            .process = process,
                            .write = write_record,
                            .arg = &work};
    stream_run(&stream);
    bert_close(model);
}

int main(int argc, char **argv) {
    struct cli cli;
    struct args args = {0};
    struct record_options records = {.from = FORMAT_UNSET};
    struct common_options common;
    const struct cli_table tables[] = {{rows, &args},
                                       {record_option_rows, &records},
                                       {common_option_rows, &common},
                                       {NULL, NULL}};
    if (common_options_read(&cli, &program, tables, &common, argc, argv))
        run(&cli, &args, &records, &common);
    return cli_finish(&cli);
}
