// What SQLite itself makes of point reads beside a bulk insert: two threads, each with a connection of its own.
//
//   reads SOURCE TARGET sync 0 0             every row of SOURCE into TARGET
//   reads SOURCE TARGET both RATE 0          the same, while the other thread reads RATE objects a second
//   reads SOURCE TARGET read RATE SECONDS    reads of what is in TARGET already
//
// SOURCE is a database that peerd made by a sync. The rows of all its tables are inserted in as many transactions as
// that sync had, into the same tables and indexes, after they have been read into memory. A read is one SELECT by an
// object's id for its parent and all its properties with their values, in a transaction of its own. Reads are due in
// groups, one a millisecond; reads that fall behind are made up for, up to a tenth of a second. Prints one line of JSON.
#include "rows.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct {
    const char *path;
    char (*ids)[36];
    int rate;
    // How long to read; 0 for as long as the other thread inserts.
    double duration;
    double seconds;
    double *latencies;
    size_t count, capacity, misses, rows;
} reader;

static const double backlog_max = 0.1;

// Objects that are committed.
static atomic_size_t available;
static atomic_bool is_stopped;

static unsigned long long mixed(unsigned long long value) {
    value *= 0x9e3779b97f4a7c15ULL;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

static void sleep_until(double instant) {
    struct timespec time = {.tv_sec = (time_t)instant, .tv_nsec = (long)((instant - (double)(time_t)instant) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void read_object(reader *self, sqlite3_stmt *begin, sqlite3_stmt *select, sqlite3_stmt *end, size_t object) {
    sqlite3_step(begin);
    sqlite3_reset(begin);
    sqlite3_bind_text(select, 1, self->ids[object], 36, SQLITE_STATIC);
    size_t rows = 0;
    int code;
    while ((code = sqlite3_step(select)) == SQLITE_ROW) rows++;
    check(NULL, code);
    sqlite3_reset(select);
    sqlite3_step(end);
    sqlite3_reset(end);
    self->rows += rows;
    self->misses += rows == 0;
}

static void *read_objects(void *argument) {
    reader *self = argument;
    sqlite3 *db;
    check(NULL, sqlite3_open(self->path, &db));
    run(db, "PRAGMA query_only = ON; PRAGMA cache_size = -4096; PRAGMA mmap_size = 0");
    sqlite3_stmt *begin = prepare(db, "BEGIN"), *end = prepare(db, "COMMIT");
    sqlite3_stmt *select = prepare(
        db, "SELECT object.parent, object.updated, name.text, operation.value FROM object"
            " JOIN register ON register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967295"
            " JOIN change ON change.line = register.line AND change.sequence = register.sequence"
            " JOIN operation ON operation.operation = change.operation + register.idx"
            " JOIN name ON name.name = register.register & 4294967295"
            " WHERE object.id = ? AND object.visible AND register.conflict_count >= 0");
    int group = self->rate / 1000 > 1 ? self->rate / 1000 : 1;
    double interval = (double)group / self->rate, start = now(), due = start;
    unsigned long long random = 0;
    while (!atomic_load(&is_stopped) && (self->duration == 0 || now() - start < self->duration)) {
        sleep_until(due);
        size_t count = atomic_load(&available);
        if (count == 0) {
            due = now() + interval;
            // The time in which there is nothing to read does not count.
            start = due;
            continue;
        }
        for (int place = 0; place < group; place++) {
            if (self->count == self->capacity) {
                self->capacity = self->capacity ? self->capacity * 2 : 1 << 16;
                self->latencies = realloc(self->latencies, self->capacity * sizeof(double));
            }
            double called = now();
            read_object(self, begin, select, end, mixed(++random) % count);
            self->latencies[self->count++] = now() - called;
        }
        due += interval;
        if (due < now() - backlog_max) due = now() - backlog_max;
    }
    self->seconds = now() - start;
    return NULL;
}

// The end of a table's part of a transaction.
static size_t part(const table *rows, int transaction, int count) {
    return (size_t)((unsigned long long)rows->row_count * (transaction + 1) / count);
}

static size_t insert_all(sqlite3 *db, table *tables, int count, int transaction_count) {
    size_t places[32] = {0}, rows = 0;
    for (int transaction = 0; transaction < transaction_count; transaction++) {
        run(db, "BEGIN IMMEDIATE");
        for (int position = 0; position < count; position++) {
            size_t end = part(tables + position, transaction, transaction_count);
            // Names are few and refer to nothing: they are there from the beginning.
            if (!strcmp(tables[position].name, "name")) end = tables[position].row_count;
            rows += end - places[position];
            for (; places[position] < end; places[position]++) insert(db, tables + position, places[position]);
        }
        run(db, "COMMIT");
        for (int position = 0; position < count; position++)
            if (!strcmp(tables[position].name, "object")) atomic_store(&available, places[position]);
    }
    return rows;
}

static int number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = prepare(db, sql);
    sqlite3_step(statement);
    int result = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return result;
}

static void load_ids(sqlite3 *source, reader *self) {
    size_t count = number(source, "SELECT count(*) FROM object"), row = 0;
    self->ids = malloc(count * 36);
    sqlite3_stmt *statement = prepare(source, "SELECT id FROM object ORDER BY object");
    for (; sqlite3_step(statement) == SQLITE_ROW; row++) memcpy(self->ids[row], sqlite3_column_text(statement, 0), 36);
    sqlite3_finalize(statement);
}

static void print_reads(reader *self) {
    if (self->count == 0) return;
    qsort(self->latencies, self->count, sizeof(double), ascending);
    printf("\"reads_per_second\": %.1f, \"p50_seconds\": %.9f, \"p99_seconds\": %.9f, \"misses\": %zu, ",
           (double)self->count / self->seconds, self->latencies[self->count / 2],
           self->latencies[self->count * 99 / 100], self->misses);
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    const char *verb = argv[3];
    reader self = {.path = argv[2], .rate = atoi(argv[4]), .duration = atof(argv[5])};
    sqlite3 *source;
    check(NULL, sqlite3_open_v2(argv[1], &source, SQLITE_OPEN_READWRITE, NULL));
    load_ids(source, &self);
    printf("{");
    if (!strcmp(verb, "read")) {
        atomic_store(&available, (size_t)number(source, "SELECT count(*) FROM object"));
        read_objects(&self);
        print_reads(&self);
        printf("\"rows\": %zu}\n", self.rows);
        return 0;
    }
    int transactions = number(source, "SELECT count(DISTINCT changed) FROM object");
    table tables[32];
    int count = load_all(source, tables, 32);
    sqlite3 *db = create(source, argv[2]);
    for (int position = 0; position < count; position++) prepare_insert(db, tables + position, "INSERT");
    int is_reading = !strcmp(verb, "both");
    pthread_t thread;
    double start = now();
    if (is_reading) pthread_create(&thread, NULL, read_objects, &self);
    size_t rows = insert_all(db, tables, count, transactions);
    double seconds = now() - start;
    atomic_store(&is_stopped, 1);
    if (is_reading) pthread_join(thread, NULL);
    print_reads(&self);
    printf("\"seconds\": %.6f, \"rows\": %zu, \"transactions\": %d}\n", seconds, rows, transactions);
    sqlite3_close(db);
    return 0;
}
