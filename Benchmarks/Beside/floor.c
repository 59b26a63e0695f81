// What SQLite itself takes to fill the tables that peerd fills, through the C API with prepared statements.
//
//   floor fill SOURCE TARGET           every row of SOURCE into TARGET, in one transaction
//   floor transactions SOURCE TARGET   the last changes of SOURCE one by one, each in a transaction of its own
//   floor commits SOURCE TARGET COUNT  COUNT transactions of one operation each
//
// SOURCE is a database that peerd made: tables and indexes are copied from its schema, rows from its rows, so that
// nothing of the layout is written down here but what a transaction touches. Rows are read before the clock starts.
// Prints one line of JSON.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int type;
    int length;
    union {
        sqlite3_int64 integer;
        double real;
        char *bytes;
    };
} cell;

typedef struct {
    char name[64];
    int column_count;
    size_t row_count, capacity;
    cell *cells;
    sqlite3_stmt *insert;
} table;

static void check(sqlite3 *db, int code) {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    fprintf(stderr, "floor: %s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    exit(1);
}

static void run(sqlite3 *db, const char *sql) { check(db, sqlite3_exec(db, sql, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement;
    check(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL));
    return statement;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// The columns that are stored: generated ones are not.
static void columns(sqlite3 *db, const char *name, char *list, size_t size) {
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_xinfo('%s') WHERE hidden = 0", name);
    sqlite3_stmt *statement = prepare(db, sql);
    list[0] = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        if (list[0]) strncat(list, ", ", size - strlen(list) - 1);
        strncat(list, (const char *)sqlite3_column_text(statement, 0), size - strlen(list) - 1);
    }
    sqlite3_finalize(statement);
}

// Reads rows of a table into memory.
static table load(sqlite3 *db, const char *name, const char *condition) {
    table result = {.row_count = 0};
    char list[1024], sql[2048];
    snprintf(result.name, sizeof result.name, "%s", name);
    columns(db, name, list, sizeof list);
    snprintf(sql, sizeof sql, "SELECT %s FROM %s %s", list, name, condition);
    sqlite3_stmt *statement = prepare(db, sql);
    result.column_count = sqlite3_column_count(statement);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        if (result.row_count == result.capacity) {
            result.capacity = result.capacity ? result.capacity * 2 : 1024;
            result.cells = realloc(result.cells, result.capacity * result.column_count * sizeof(cell));
        }
        cell *row = result.cells + result.row_count++ * result.column_count;
        for (int column = 0; column < result.column_count; column++) {
            cell *target = row + column;
            target->type = sqlite3_column_type(statement, column);
            target->length = 0;
            if (target->type == SQLITE_INTEGER) target->integer = sqlite3_column_int64(statement, column);
            else if (target->type == SQLITE_FLOAT) target->real = sqlite3_column_double(statement, column);
            else if (target->type != SQLITE_NULL) {
                const void *bytes = sqlite3_column_blob(statement, column);
                target->length = sqlite3_column_bytes(statement, column);
                target->bytes = malloc(target->length + 1);
                if (target->length) memcpy(target->bytes, bytes, target->length);
            }
        }
    }
    sqlite3_finalize(statement);
    return result;
}

static void prepare_insert(sqlite3 *db, table *rows, const char *verb) {
    char list[1024], sql[4096];
    columns(db, rows->name, list, sizeof list);
    int length = snprintf(sql, sizeof sql, "%s INTO %s (%s) VALUES (?", verb, rows->name, list);
    for (int column = 1; column < rows->column_count; column++)
        length += snprintf(sql + length, sizeof sql - length, ", ?");
    snprintf(sql + length, sizeof sql - length, ")");
    rows->insert = prepare(db, sql);
}

static void bind(sqlite3_stmt *statement, int place, const cell *value) {
    switch (value->type) {
    case SQLITE_INTEGER: sqlite3_bind_int64(statement, place, value->integer); break;
    case SQLITE_FLOAT: sqlite3_bind_double(statement, place, value->real); break;
    case SQLITE_TEXT: sqlite3_bind_text(statement, place, value->bytes, value->length, SQLITE_STATIC); break;
    case SQLITE_BLOB: sqlite3_bind_blob(statement, place, value->bytes, value->length, SQLITE_STATIC); break;
    default: sqlite3_bind_null(statement, place);
    }
}

static void insert(sqlite3 *db, const table *rows, size_t row) {
    const cell *cells = rows->cells + row * rows->column_count;
    for (int column = 0; column < rows->column_count; column++) bind(rows->insert, column + 1, cells + column);
    int code = sqlite3_step(rows->insert);
    if (code != SQLITE_DONE) check(db, code);
    sqlite3_reset(rows->insert);
}

static sqlite3_int64 integer(const table *rows, size_t row, int column) {
    return rows->cells[row * rows->column_count + column].integer;
}

// An empty database with the tables, indexes and views of the source, opened as peerd opens its own.
static sqlite3 *create(sqlite3 *source, const char *path) {
    sqlite3 *db;
    check(NULL, sqlite3_open(path, &db));
    sqlite3_stmt *size = prepare(source, "PRAGMA page_size");
    sqlite3_step(size);
    char sql[128];
    snprintf(sql, sizeof sql, "PRAGMA page_size = %d", sqlite3_column_int(size, 0));
    sqlite3_finalize(size);
    run(db, sql);
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;"
            "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA secure_delete = FAST;"
            "PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 16777216");
    sqlite3_stmt *schema = prepare(source, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'");
    while (sqlite3_step(schema) == SQLITE_ROW) run(db, (const char *)sqlite3_column_text(schema, 0));
    sqlite3_finalize(schema);
    return db;
}

static int load_all(sqlite3 *source, table *tables, int max) {
    sqlite3_stmt *names = prepare(source, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    int count = 0;
    while (sqlite3_step(names) == SQLITE_ROW && count < max)
        tables[count++] = load(source, (const char *)sqlite3_column_text(names, 0), "");
    sqlite3_finalize(names);
    return count;
}

static void fill(sqlite3 *source, sqlite3 *db) {
    table tables[32];
    int count = load_all(source, tables, 32);
    size_t rows = 0, operations = 0;
    double start = now();
    run(db, "BEGIN IMMEDIATE");
    for (int position = 0; position < count; position++) {
        prepare_insert(db, tables + position, "INSERT");
        for (size_t row = 0; row < tables[position].row_count; row++) insert(db, tables + position, row);
        rows += tables[position].row_count;
        if (!strcmp(tables[position].name, "operation")) operations = tables[position].row_count;
    }
    run(db, "COMMIT");
    double seconds = now() - start;
    printf("{\"seconds\": %.6f, \"operations\": %zu, \"rows\": %zu}\n", seconds, operations, rows);
}

// The changes by one writer that set properties: each with its operations, the registers they won, the rows of their
// objects, the writer's own line and a signature.
static void transactions(sqlite3 *source, sqlite3 *db) {
    const char *tail = "WHERE sequence > (SELECT max(sequence) FROM change JOIN operation USING (operation) WHERE kind = 1)"
                       " ORDER BY sequence";
    table changes = load(source, "change", tail);
    int sequence = 1, first = 3, size = 4;
    char condition[160];
    snprintf(condition, sizeof condition, "WHERE operation >= %lld ORDER BY operation", integer(&changes, 0, first));
    table operations = load(source, "operation", condition);
    table registers = load(source, "register", "ORDER BY sequence, idx");
    table objects = load(source, "object", "ORDER BY object");
    table lines = load(source, "line", "");
    table signatures = load(source, "run_signature", "LIMIT 1");
    table names = load(source, "name", "");
    table *all[] = {&changes, &operations, &registers, &objects, &lines, &signatures, &names};
    for (int position = 0; position < 7; position++) prepare_insert(db, all[position], "REPLACE");
    sqlite3_stmt *update_object = prepare(db, "UPDATE object SET existence = ?, updated = ? WHERE object = ?");
    sqlite3_stmt *update_line =
        prepare(db, "UPDATE line SET stored_sequence = ?, applied_stamp = ?, applied_sequence = ?");
    run(db, "BEGIN");
    for (size_t row = 0; row < objects.row_count; row++) insert(db, &objects, row);
    for (size_t row = 0; row < lines.row_count; row++) insert(db, &lines, row);
    for (size_t row = 0; row < names.row_count; row++) insert(db, &names, row);
    run(db, "COMMIT");

    size_t operation = 0, property = 0;
    double start = now();
    for (size_t row = 0; row < changes.row_count; row++) {
        run(db, "BEGIN IMMEDIATE");
        for (sqlite3_int64 left = integer(&changes, row, size); left > 0; left--) insert(db, &operations, operation++);
        insert(db, &changes, row);
        sqlite3_int64 last_object = -1;
        while (property < registers.row_count
               && integer(&registers, property, 3) == integer(&changes, row, sequence)) {
            sqlite3_int64 object = integer(&registers, property, 0) >> 32;
            if (object != last_object) {
                const cell *cells = objects.cells + object * objects.column_count;
                bind(update_object, 1, cells + 8);
                bind(update_object, 2, cells + 9);
                sqlite3_bind_int64(update_object, 3, object);
                check(db, sqlite3_step(update_object));
                sqlite3_reset(update_object);
                last_object = object;
            }
            insert(db, &registers, property++);
        }
        for (int place = 1; place <= 3; place++) bind(update_line, place, changes.cells + row * changes.column_count + sequence + (place + 1) % 2);
        check(db, sqlite3_step(update_line));
        sqlite3_reset(update_line);
        insert(db, &signatures, 0);
        run(db, "COMMIT");
    }
    double seconds = now() - start;
    printf("{\"seconds\": %.6f, \"operations\": %zu, \"transactions\": %zu, \"registers\": %zu}\n", seconds, operation,
           changes.row_count, property);
}

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void commits(sqlite3 *source, sqlite3 *db, int count) {
    table operations = load(source, "operation", "WHERE kind = 2 LIMIT 1");
    prepare_insert(db, &operations, "INSERT");
    double *times = malloc(count * sizeof(double));
    for (int commit = 0; commit < count; commit++) {
        operations.cells[0].integer = commit;
        double start = now();
        run(db, "BEGIN IMMEDIATE");
        insert(db, &operations, 0);
        run(db, "COMMIT");
        times[commit] = now() - start;
    }
    qsort(times, count, sizeof(double), ascending);
    printf("{\"p50_seconds\": %.9f, \"p99_seconds\": %.9f}\n", times[count / 2], times[count * 99 / 100]);
}

int main(int argc, char **argv) {
    sqlite3 *source;
    if (argc < 4) return 2;
    check(NULL, sqlite3_open_v2(argv[2], &source, SQLITE_OPEN_READWRITE, NULL));
    sqlite3 *db = create(source, argv[3]);
    if (!strcmp(argv[1], "fill")) fill(source, db);
    else if (!strcmp(argv[1], "transactions")) transactions(source, db);
    else if (!strcmp(argv[1], "commits") && argc == 5) commits(source, db, atoi(argv[4]));
    else return 2;
    return 0;
}
