/* SPDX-License-Identifier: MIT
 *
 * test_cuda.cpp: the CUDA plug-in's own source over the host emulation: each kernel
 * against plain sums at odd sizes, the whole forward against the CPU backend on the
 * golden models, and what happens when memory runs out, the device is lost or a capture
 * fails. */
#include "cuda/lane.cuh"

extern "C" {
#include "model/loader.h"
#include "nn/backend.h"
extern const struct backend bert_backend;
}

#include <check.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>

using emulation::state;
using std::vector;

static std::mt19937 generator(7);

static float noise(void) {
    return std::normal_distribution<float>()(generator);
}

static vector<half> halves(size_t n, float scale) {
    vector<half> x(n);
    for (half &h : x)
        h = __float2half_rn(scale * noise());
    return x;
}

static vector<float> floats(size_t n, float scale) {
    vector<float> x(n);
    for (float &f : x)
        f = scale * noise();
    return x;
}

/* ---- Kernels --------------------------------------------------------------------- */

static void plain_attention(const struct attention_args &a, int sequence, int head,
                            int query, vector<double> &context) {
    int first = a.start[sequence], keys = a.start[sequence + 1] - first;
    const half *q = a.query + (size_t)(a.query_start[sequence] + query) * a.query_stride +
                    head * a.width;
    vector<double> p((size_t)keys);
    double most = -1e30, sum = 0;
    for (int j = 0; j < keys; j++) {
        const half *k = a.key + (size_t)(first + j) * a.key_stride + head * a.width;
        for (int i = 0; i < a.width; i++)
            p[j] += (double)__half2float(q[i]) * __half2float(k[i]);
        p[j] /= sqrt((double)a.width);
        most = std::max(most, p[j]);
    }
    for (double &x : p)
        sum += x = exp(x - most);
    context.assign((size_t)a.width, 0);
    for (int j = 0; j < keys; j++)
        for (int i = 0; i < a.width; i++)
            context[i] +=
                p[j] / sum *
                __half2float(
                    a.value[(size_t)(first + j) * a.key_stride + head * a.width + i]);
}

static void check_attention(const vector<int> &lengths, int heads, int width, bool few) {
    vector<int32_t> start(1), query_start(1);
    for (int n : lengths) {
        start.push_back(start.back() + n);
        query_start.push_back(query_start.back() + (few ? (n + 2) / 3 : n));
    }
    int rows = start.back(), queries = query_start.back(), hidden = heads * width;
    vector<half> qkv = halves((size_t)rows * hidden * 3, 1.5f);
    vector<half> query = halves((size_t)queries * hidden, 1.5f);
    vector<half> context((size_t)queries * hidden);
    struct sizes sizes = {rows, (int32_t)lengths.size(), queries};
    struct attention_args a = {};
    a.sizes = &sizes, a.start = start.data(), a.query_start = query_start.data();
    a.heads = heads, a.width = width;
    a.query = query.data(), a.query_stride = hidden;
    a.key = qkv.data() + hidden, a.value = qkv.data() + 2 * hidden,
    a.key_stride = 3 * hidden;
    a.context = context.data(), a.context_stride = hidden;
    int longest = *std::max_element(lengths.begin(), lengths.end());
    /* A launch for more sequences and queries than there are, as a graph's bucket is. */
    launch_attention(&a, (int)lengths.size() + 1, longest + 3, longest + 40, 64 * 1024,
                     NULL);
    vector<double> expected;
    for (size_t s = 0; s < lengths.size(); s++)
        for (int h = 0; h < heads; h++)
            for (int q = 0; q < query_start[s + 1] - query_start[s]; q++) {
                plain_attention(a, (int)s, h, q, expected);
                for (int i = 0; i < width; i++)
                    ck_assert_double_eq_tol(
                        __half2float(context[(size_t)(query_start[s] + q) * hidden +
                                             h * width + i]),
                        expected[i], 4e-3);
            }
}

START_TEST(attention_of_ragged_batches) {
    check_attention({1}, 1, 8, false);
    check_attention({17, 1, 33}, 2, 8, false);
    check_attention({5, 130, 64, 16}, 3, 24, true);
    check_attention({65, 7}, 1, 128, false);
    check_attention({40, 3}, 2, 12, false); /* heads that do not begin aligned */
}
END_TEST

START_TEST(attention_of_512_tokens) {
    check_attention({512}, 1, 64, true);
}
END_TEST

START_TEST(attention_without_room_is_refused) {
    struct bert_error error;
    ck_assert_int_eq(attention_prepare(64, 512, 64 * 1024, &error), BERT_OK);
    ck_assert_int_eq(attention_prepare(64, 2048, 64 * 1024, &error), BERT_MODEL);
    ck_assert_ptr_nonnull(strstr(error.message, "shared memory"));
}
END_TEST

static void check_norm(int rows, int width, bool quant) {
    vector<float> x = floats((size_t)rows * width, 3), gamma = floats(width, 1),
                  beta = floats(width, 1), scale = floats(width, 1), y = x;
    vector<half> input((size_t)rows * width);
    struct sizes sizes = {rows, 1, rows};
    struct norm_args a = {};
    a.sizes = &sizes, a.width = width, a.epsilon = 1e-12f, a.hidden = y.data();
    a.input = input.data(),
    a.norm = {gamma.data(), beta.data(), quant ? scale.data() : NULL};
    launch_norm(&a, rows + 5, NULL);
    for (int r = 0; r < rows; r++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < width; i++)
            mean += x[(size_t)r * width + i] / (double)width;
        for (int i = 0; i < width; i++)
            squares += pow(x[(size_t)r * width + i] - mean, 2) / width;
        for (int i = 0; i < width; i++) {
            size_t at = (size_t)r * width + i;
            double n = squares == 0 ? 0 : (x[at] - mean) / sqrt(squares);
            ck_assert_double_eq_tol(y[at], n * gamma[i] + beta[i], 1e-4);
            ck_assert_double_eq_tol(__half2float(input[at]),
                                    quant ? n * scale[i] : n * gamma[i] + beta[i], 1e-2);
        }
    }
}

START_TEST(layer_norm_of_odd_sizes) {
    check_norm(1, 8, false);
    check_norm(7, 40, true);
    check_norm(3, 264, true); /* one lane more than a warp */
    check_norm(513, 72, false);
}
END_TEST

START_TEST(gelu_is_the_erf_form) {
    vector<float> x = floats(8 * 301, 3);
    vector<half> y(x.size());
    launch_gelu(x.data(), y.data(), y.size(), ACTIVATION_GELU, NULL);
    for (size_t i = 0; i < x.size(); i++) {
        double v = x[i];
        ck_assert_double_eq_tol(__half2float(y[i]), v * 0.5 * (1 + erf(v / sqrt(2.0))),
                                1e-3 * (1 + fabs(v)));
    }
}
END_TEST

struct asked {
    vector<int32_t> k, map_of, listed_start, listed, best_id, best_count, finite;
    vector<float> best_log, listed_log;
};

static void run_answer(const vector<float> &logits, int vocabulary, struct asked &q,
                       const vector<uint64_t> &maps) {
    int count = (int)q.k.size(), stride = *std::max_element(q.k.begin(), q.k.end());
    struct sizes sizes = {count, 1, count};
    q.best_id.assign((size_t)count * stride, -7),
        q.best_log.resize((size_t)count * stride);
    q.best_count.assign(count, -7), q.finite.assign(count, -7);
    q.listed_log.resize(q.listed.size());
    struct answer_args a = {};
    a.sizes = &sizes, a.vocabulary = vocabulary, a.logits = logits.data(),
    a.k = q.k.data();
    a.map_of = q.map_of.data(), a.maps = maps.data(),
    a.map_words = (vocabulary + 63) / 64;
    a.listed_start = q.listed_start.data(), a.listed = q.listed.data();
    a.best_stride = stride, a.best_id = q.best_id.data(), a.best_log = q.best_log.data();
    a.best_count = q.best_count.data(), a.finite = q.finite.data();
    a.listed_log = q.listed_log.data();
    launch_answer(&a, count + 2, NULL);
}

START_TEST(answers_order_ties_maps_and_lists) {
    int v = 777;
    vector<float> logits = floats((size_t)3 * v, 2);
    logits[5] = logits[9] = logits[700] = 50;
    logits[30] = -0.0f, logits[31] = 0.0f;
    logits[2 * v + 3] = NAN;
    vector<uint64_t> map((v + 63) / 64);
    map[0] = 1ull << 30 | 1ull << 31, map[10] = 1ull << 60; /* 30, 31, 700 */
    struct asked q;
    q.k = {4, v, 2}, q.map_of = {0, -1, -1};
    q.listed_start = {0, 2, 2, 3}, q.listed = {9, 31, 1};
    run_answer(logits, v, q, map);
    ck_assert_int_eq(q.best_count[0], 3);
    ck_assert_int_eq(q.best_id[0], 700);
    ck_assert_int_eq(q.best_id[1], 30); /* equal zeros: the lower id first */
    ck_assert_int_eq(q.best_id[2], 31);
    ck_assert_float_eq_tol(q.listed_log[0], q.best_log[0], 1e-6f);
    ck_assert_int_eq(q.best_count[1], v);
    vector<int> order(v);
    for (int i = 0; i < v; i++)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return logits[v + a] > logits[v + b]; });
    double sum = 0;
    for (int i = 0; i < v; i++)
        sum += exp((double)logits[v + i]);
    for (int i = 0; i < v; i++) {
        ck_assert_int_eq(q.best_id[v + i], order[i]);
        ck_assert_double_eq_tol(q.best_log[v + i], logits[v + order[i]] - log(sum), 1e-4);
    }
    ck_assert_int_eq(q.finite[1], 1);
    ck_assert_int_eq(q.finite[2], 0);
}
END_TEST

/* ---- The whole forward ----------------------------------------------------------- */

struct model {
    struct model_file *file;
    void *cpu, *cuda, *cpu_worker, *cuda_worker;
};

static struct model open_model(const char *path, enum bert_precision precision) {
    struct model m = {};
    struct loader_options options = {};
    struct backend_options backend = {};
    struct bert_error error;
    const char *device;
    options.precision = precision;
    ck_assert_msg(loader_open(&m.file, path, &options, &error) == BERT_OK, "%s",
                  error.message);
    const struct weights *w = loader_weights(m.file);
    ck_assert_int_eq(backend_cpu.open(&m.cpu, w, &backend, &device, &error), BERT_OK);
    ck_assert_int_eq(backend_cpu.worker_new(&m.cpu_worker, m.cpu, 1, &error), BERT_OK);
    ck_assert_int_eq(bert_backend.open(&m.cuda, w, &backend, &device, &error), BERT_OK);
    ck_assert_int_eq(bert_backend.worker_new(&m.cuda_worker, m.cuda, 1, &error), BERT_OK);
    return m;
}

static void close_model(struct model *m) {
    backend_cpu.worker_free(m->cpu_worker);
    backend_cpu.close(m->cpu);
    bert_backend.worker_free(m->cuda_worker);
    bert_backend.close(m->cuda);
    loader_close(m->file);
}

struct question { /* a random batch and room for its answers, twice */
    vector<int32_t> ids, listed;
    vector<size_t> start;
    vector<struct request> requests;
    vector<struct scored> best[2];
    vector<float> listed_log[2];
    vector<struct reply> replies[2];
    struct batch batch;
};

/* Asks for each row that wanted() picks, k best and the listed ids. */
static void ask(struct question &q, int k, int listed, int vocabulary,
                const std::function<bool(size_t row, size_t in_sequence)> &wanted) {
    for (size_t s = 0; s + 1 < q.start.size(); s++)
        for (size_t row = q.start[s]; row < q.start[s + 1]; row++)
            if (wanted(row, row - q.start[s]))
                q.requests.push_back({row, k, NULL, NULL, (size_t)listed});
    size_t count = q.requests.size();
    for (int i = 0; i < listed; i++)
        q.listed.push_back((int32_t)(generator() % (unsigned)vocabulary));
    for (int side = 0; side < 2; side++) {
        q.best[side].resize(count * k), q.listed_log[side].resize(count * listed + 1);
        q.replies[side].resize(count);
        for (size_t i = 0; i < count; i++)
            q.replies[side][i] = {q.best[side].data() + i * k, 0,
                                  q.listed_log[side].data() + i * listed, 0};
    }
    for (struct request &r : q.requests)
        r.listed = q.listed.data();
    q.batch = {q.start.size() - 1, q.ids.size(), q.ids.data(), q.start.data()};
}

static void ask_random(struct question &q, const vector<int> &lengths, int a_request,
                       int k, int listed, int vocabulary) {
    q.start = {0};
    for (int n : lengths) {
        for (int i = 0; i < n; i++)
            q.ids.push_back((int32_t)(generator() % (unsigned)vocabulary));
        q.start.push_back(q.ids.size());
    }
    ask(q, k, listed, vocabulary,
        [=](size_t, size_t i) { return i % (size_t)a_request == (size_t)a_request / 2; });
}

static void compare(struct model *m, struct question &q, int listed, float tolerance) {
    struct bert_error error;
    size_t count = q.requests.size();
    ck_assert_msg(backend_cpu.forward(m->cpu_worker, &q.batch, q.requests.data(), count,
                                      q.replies[0].data(), &error) == BERT_OK,
                  "%s", error.message);
    ck_assert_msg(bert_backend.forward(m->cuda_worker, &q.batch, q.requests.data(), count,
                                       q.replies[1].data(), &error) == BERT_OK,
                  "%s", error.message);
    for (size_t i = 0; i < count; i++) {
        const struct reply *a = &q.replies[0][i], *b = &q.replies[1][i];
        ck_assert_int_eq(b->finite, 1);
        ck_assert_int_eq(a->best_count, b->best_count);
        for (int j = 0; j < a->best_count; j++)
            ck_assert_double_eq_tol(exp((double)a->best[j].log_probability),
                                    exp((double)b->best[j].log_probability), tolerance);
        for (int j = 0; j < listed; j++)
            ck_assert_double_eq_tol(exp((double)a->listed[j]), exp((double)b->listed[j]),
                                    tolerance);
    }
}

static void compare_random(struct model *m, const vector<int> &lengths, int a_request,
                           int k, int listed, float tolerance) {
    struct question q;
    ask_random(q, lengths, a_request, k, listed,
               loader_weights(m->file)->config.vocabulary);
    compare(m, q, listed, tolerance);
}

static void compare_shapes(const char *path, enum bert_precision precision,
                           float tolerance) {
    struct model m = open_model(path, precision);
    compare_random(&m, {1}, 1, 1, 0, tolerance);
    compare_random(&m, {9, 2, 31}, 7, 5, 3, tolerance);
    compare_random(&m, {9, 2, 31}, 7, 5, 3, tolerance); /* the same bucket again */
    compare_random(&m, {3, 40, 5, 6, 7, 8, 9, 10, 11, 80, 130}, 3, 40, 0, tolerance);
    close_model(&m);
}

/* The ids of a line of expected.jsonl that belongs to model; false for other lines. */
static bool golden_line(const char *line, const std::string &model,
                        vector<int32_t> &ids) {
    const char *at = strstr(line, "\"ids\": [");
    if (strstr(line, ("\"model\": \"" + model + "\"").c_str()) == NULL || at == NULL)
        return false;
    ids.clear();
    for (at += 8; *at != ']';) {
        char *end;
        ids.push_back((int32_t)strtol(at + 1, &end, 10));
        at = end;
    }
    return true;
}

enum { MASK = 103 };

START_TEST(golden_texts_equal_the_cpu) {
    static const char *const models[] = {"f32", "untied", "bf16", "f16"};
    struct model m =
        open_model((std::string("tests/golden/tiny/") + models[_i]).c_str(), BERT_F32);
    FILE *file = fopen("tests/golden/tiny/expected.jsonl", "r");
    char *line = NULL;
    size_t room = 0;
    int lines = 0;
    ck_assert_ptr_nonnull(file);
    while (getline(&line, &room, file) > 0) {
        struct question q;
        if (!golden_line(line, models[_i], q.ids))
            continue;
        q.start = {0, q.ids.size()};
        ask(q, 5, 3, 1200, [&](size_t row, size_t) { return q.ids[row] == MASK; });
        compare(&m, q, 3, 2e-3f);
        lines++;
    }
    ck_assert_int_eq(lines, 15);
    free(line);
    fclose(file);
    close_model(&m);
}
END_TEST

/* Models whose weights are exact in half, so that the passes alone are compared. */
START_TEST(ragged_batches_equal_the_cpu) {
    static const char *const models[] = {"bf16", "f16"};
    compare_shapes((std::string("tests/golden/tiny/") + models[_i]).c_str(), BERT_F32,
                   2e-3f);
}
END_TEST

START_TEST(forward_of_an_int8_model_equals_the_cpu) {
    compare_shapes("tests/golden/tiny/f32", BERT_INT8,
                   2e-2f); /* activations are not int8 here */
}
END_TEST

START_TEST(forward_of_512_tokens_and_large_wishes) {
    struct model m = open_model("tests/golden/tiny/f16", BERT_F32);
    compare_random(&m, {512}, 100, 5, 0, 2e-3f);
    compare_random(&m, {6, 6}, 2, 1200, 1200, 2e-3f);
    compare_random(&m, {6}, 4, 2000, 0, 2e-3f); /* more than there are */
    close_model(&m);
}
END_TEST

/* More maps than a batch may have, so that it is asked for in parts. */
START_TEST(each_request_keeps_its_map) {
    struct model m = open_model("tests/golden/tiny/f16", BERT_F32);
    vector<vector<uint64_t>> maps(20, vector<uint64_t>(1200 / 64 + 1));
    struct question q;
    ask_random(q, {60, 40}, 3, 4, 2, 1200);
    for (size_t i = 0; i < maps.size(); i++)
        for (size_t id = i; id < 1200; id += 20 + i)
            maps[i][id / 64] |= 1ull << (id % 64);
    for (size_t i = 0; i < q.requests.size(); i++)
        q.requests[i].allowed = maps[i % maps.size()].data();
    compare(&m, q, 2, 2e-3f);
    close_model(&m);
}
END_TEST

/* ---- Graphs ---------------------------------------------------------------------- */

START_TEST(a_graph_serves_its_bucket) {
    struct model m = open_model("tests/golden/tiny/f16", BERT_F32);
    long before = state.launches;
    compare_random(&m, {9, 2, 31}, 7, 5, 3, 2e-3f);
    ck_assert_int_eq(state.launches, before); /* captured beside the first pass */
    compare_random(&m, {9, 2, 31}, 7, 5, 3, 2e-3f);
    compare_random(&m, {30, 4, 8, 5}, 9, 3, 9, 2e-3f);
    ck_assert_int_eq(state.launches, before + 2);
    for (int round = 0; round < 2; round++) /* every bucket of rows, twice */
        for (int rows = 3; rows < 120; rows += 13)
            compare_random(&m, {rows}, rows, 2, 1, 2e-3f);
    ck_assert_int_gt(state.launches, before + 10);
    close_model(&m);
}
END_TEST

START_TEST(without_captures_all_works) {
    struct model_file *file;
    struct loader_options loader = {};
    struct backend_options options = {};
    struct bert_error error;
    const char *device;
    void *handle;
    ck_assert_int_eq(loader_open(&file, "tests/golden/tiny/f16", &loader, &error),
                     BERT_OK);
    state.captures = 0;
    ck_assert_int_eq(
        bert_backend.open(&handle, loader_weights(file), &options, &device, &error),
        BERT_OK);
    ck_assert_str_eq(device, "cuda:0 (emulated, without graphs)");
    bert_backend.close(handle);
    struct model m = open_model("tests/golden/tiny/f16", BERT_F32);
    long before = state.launches;
    for (int i = 0; i < 3; i++)
        compare_random(&m, {9, 2, 31}, 7, 5, 3, 2e-3f);
    ck_assert_int_eq(state.launches, before);
    state.captures = -1;
    close_model(&m);
    loader_close(file);
}
END_TEST

/* ---- Trouble --------------------------------------------------------------------- */

/* Rows of a batch that there is room for; 0 with an error, for none. */
static size_t rows_in_what_is_left(const struct weights *weights) {
    struct backend_options options = {};
    struct bert_error error;
    const char *device;
    void *handle;
    size_t good, rows = 0, requests;
    if (bert_backend.open(&handle, weights, &options, &device, &error) == BERT_OK) {
        bert_backend.limits(handle, &good, &rows, &requests);
        bert_backend.close(handle);
    } else {
        ck_assert_int_eq(error.status, BERT_INTERNAL);
        ck_assert_ptr_nonnull(strstr(error.message, "out of memory"));
    }
    ck_assert_uint_eq(state.held, 0);
    return rows;
}

START_TEST(too_little_memory_is_an_error_or_a_smaller_batch) {
    struct loader_options options = {};
    struct model_file *file;
    struct bert_error error;
    vector<size_t> seen = {0};
    ck_assert_int_eq(loader_open(&file, "tests/golden/tiny/f32", &options, &error),
                     BERT_OK);
    const struct weights *weights = loader_weights(file);
    for (state.allocations = 0;;) { /* every allocation fails once */
        long given = state.allocations;
        bool all = rows_in_what_is_left(weights) == LANE_ROWS;
        state.allocations = given + 1;
        if (all)
            break;
    }
    state.allocations = -1;
    for (size_t room = 16 << 20; seen.back() < LANE_ROWS; room += 1 << 20) {
        state.room = room;
        size_t rows = rows_in_what_is_left(weights);
        ck_assert_uint_ge(rows, seen.back());
        if (rows > seen.back())
            seen.push_back(rows);
    }
    state.room = SIZE_MAX;
    ck_assert_uint_eq(seen[1], 512);
    ck_assert_uint_ge(seen.size(), 4);
    loader_close(file);
}
END_TEST

/* Weights of bert-base-chinese in half, its float vectors, and both lanes. What cuBLASLt
 * and the graphs take for themselves is beside it: some room is left for them. */
START_TEST(the_base_model_needs_less_than_500_megabytes) {
    struct device_weights w = {};
    struct lane *lanes[2];
    struct bert_error error;
    w.config = {.layers = 12,
                .hidden = 768,
                .heads = 12,
                .intermediate = 3072,
                .vocabulary = 21128,
                .positions = 512,
                .types = 2,
                .epsilon = 1e-12f};
    size_t layer = 768 * 768 * 4 + 768 * 3072 * 2, vectors = 768 * 20;
    size_t weights =
        2 * ((21128 + 514 + 768) * 768 + 12 * layer) + 6 * (12 * vectors + 21128);
    for (struct lane *&lane : lanes)
        ck_assert_int_eq(lane_new(&lane, &w, LANE_ROWS, 64 * 1024, &error), BERT_OK);
    ck_assert_uint_lt(state.held + weights, 470u * 1000 * 1000);
    for (struct lane *lane : lanes)
        lane_free(lane);
    ck_assert_uint_eq(state.held, 0);
}
END_TEST

START_TEST(a_lost_device_is_an_error) {
    struct model m = open_model("tests/golden/tiny/f32", BERT_F32);
    struct question q;
    struct bert_error error;
    ask_random(q, {9, 5}, 3, 5, 0, 1200);
    state.syncs = 0;
    for (int i = 0; i < 3; i++) { /* and its lane is free again */
        ck_assert_int_eq(bert_backend.forward(m.cuda_worker, &q.batch, q.requests.data(),
                                              q.requests.size(), q.replies[1].data(),
                                              &error),
                         BERT_INTERNAL);
        ck_assert_ptr_nonnull(strstr(error.message, "device lost"));
    }
    state.syncs = -1;
    close_model(&m);
}
END_TEST

START_TEST(a_defect_is_refused_and_harms_nothing) {
    struct model m = open_model("tests/golden/tiny/f16", BERT_F32);
    struct question q;
    struct bert_error error;
    ask_random(q, {9, 5}, 3, 5, 0, 1200);
    int32_t good = q.ids[2];
    for (int32_t bad : {-1, 1200, INT32_MAX}) {
        q.ids[2] = bad;
        ck_assert_int_eq(bert_backend.forward(m.cuda_worker, &q.batch, q.requests.data(),
                                              q.requests.size(), q.replies[1].data(),
                                              &error),
                         BERT_INTERNAL);
        ck_assert_ptr_nonnull(strstr(error.message, "vocabulary"));
    }
    q.ids[2] = good;
    compare(&m, q, 0, 2e-3f);
    close_model(&m);
}
END_TEST

static void check_probe(const char *expected) {
    struct backend_options options = {};
    char why[200] = "";
    ck_assert_int_eq(bert_backend.probe(&options, why, sizeof why), 0);
    ck_assert_str_eq(why, expected);
}

START_TEST(a_probe_says_why_not) {
    struct backend_options options = {.device = 1};
    char why[200] = "";
    ck_assert_int_eq(bert_backend.probe(&options, why, sizeof why), 0);
    ck_assert_str_eq(why, "no CUDA device 1, there is 1");
    state.driver = 0;
    check_probe("no NVIDIA driver");
    state.driver = 12040;
    check_probe("the NVIDIA driver is for CUDA 12.4, 13.0 is needed");
    state.driver = 13000, state.devices = 0;
    check_probe("no CUDA-capable device is detected");
    state.devices = 1, state.major = 6;
    check_probe("emulated has compute capability 6.0, 7.5 is needed");
    state.major = 9, state.available = 100 << 20;
    check_probe("emulated has 100 MB free, 512 MB are needed");
    state.available = (size_t)1 << 34;
    ck_assert_int_eq(bert_backend.probe(&(options = {}), why, sizeof why), 90);
}
END_TEST

/* More threads than lanes; each keeps to its own questions. */
START_TEST(any_number_of_threads_may_feed_it) {
    struct model m = open_model("tests/golden/tiny/f16", BERT_F32);
    struct question questions[5];
    std::atomic<int> failed{0};
    vector<std::thread> threads;
    for (struct question &q : questions)
        ask_random(q, {(int)(5 + generator() % 9), 7}, 4, 3, 1, 1200);
    for (struct question &q : questions)
        threads.emplace_back([&] {
            struct bert_error error;
            for (int i = 0; i < 3; i++)
                failed += bert_backend.forward(m.cuda_worker, &q.batch, q.requests.data(),
                                               q.requests.size(), q.replies[1].data(),
                                               &error) != BERT_OK;
        });
    for (std::thread &thread : threads)
        thread.join();
    ck_assert_int_eq(failed, 0);
    for (struct question &q : questions) {
        vector<struct scored> best = q.best[1];
        compare(&m, q, 1, 2e-3f); /* runs it again, alone */
        for (size_t i = 0; i < best.size(); i++)
            ck_assert_int_eq(best[i].id, q.best[1][i].id);
    }
    close_model(&m);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda, emulated");
    TCase *kernels = tcase_create("kernels"), *forward = tcase_create("forward");
    TCase *trouble = tcase_create("trouble");
    tcase_set_timeout(trouble, 120);
    tcase_set_timeout(kernels, 120);
    tcase_set_timeout(forward, 120);
    tcase_add_test(kernels, attention_of_ragged_batches);
    tcase_add_test(kernels, attention_of_512_tokens);
    tcase_add_test(kernels, attention_without_room_is_refused);
    tcase_add_test(kernels, layer_norm_of_odd_sizes);
    tcase_add_test(kernels, gelu_is_the_erf_form);
    tcase_add_test(kernels, answers_order_ties_maps_and_lists);
    tcase_add_loop_test(forward, golden_texts_equal_the_cpu, 0, 4);
    tcase_add_loop_test(forward, ragged_batches_equal_the_cpu, 0, 2);
    tcase_add_test(forward, forward_of_an_int8_model_equals_the_cpu);
    tcase_add_test(forward, forward_of_512_tokens_and_large_wishes);
    tcase_add_test(forward, each_request_keeps_its_map);
    tcase_add_test(forward, a_graph_serves_its_bucket);
    tcase_add_test(forward, without_captures_all_works);
    tcase_add_test(trouble, too_little_memory_is_an_error_or_a_smaller_batch);
    tcase_add_test(trouble, the_base_model_needs_less_than_500_megabytes);
    tcase_add_test(trouble, a_lost_device_is_an_error);
    tcase_add_test(trouble, a_defect_is_refused_and_harms_nothing);
    tcase_add_test(trouble, a_probe_says_why_not);
    tcase_add_test(trouble, any_number_of_threads_may_feed_it);
    suite_add_tcase(suite, kernels);
    suite_add_tcase(suite, forward);
    suite_add_tcase(suite, trouble);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
