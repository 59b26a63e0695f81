// Rows of a database that peerd made, and an empty database with the same tables: what the C programs share.
#pragma once

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
    fprintf(stderr, "SQLite: %s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
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

// For sorting times.
static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}
