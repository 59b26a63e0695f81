// What SQLite itself takes to fill the tables that peerd fills, through the C API with prepared statements.
//
//   floor fill SOURCE TARGET           every row of SOURCE into TARGET, in one transaction
//   floor transactions SOURCE TARGET   the last changes of SOURCE one by one, each in a transaction of its own
//   floor commits SOURCE TARGET COUNT  COUNT transactions of one operation each
//
// SOURCE is a database that peerd made: tables and indexes are copied from its schema, rows from its rows, so that
// nothing of the layout is written down here but what a transaction touches. Rows are read before the clock starts.
// Prints one line of JSON.
#include "rows.h"

static sqlite3_int64 integer(const table *rows, size_t row, int column) {
    return rows->cells[row * rows->column_count + column].integer;
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
    table lines = load(source, "segment", "");
    table signatures = load(source, "run_signature", "LIMIT 1");
    table names = load(source, "name", "");
    table *all[] = {&changes, &operations, &registers, &objects, &lines, &signatures, &names};
    for (int position = 0; position < 7; position++) prepare_insert(db, all[position], "REPLACE");
    sqlite3_stmt *update_object = prepare(db, "UPDATE object SET existence = ?, updated = ? WHERE object = ?");
    sqlite3_stmt *update_line =
        prepare(db, "UPDATE segment SET stored_sequence = ?, applied_stamp = ?, applied_sequence = ?");
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

static void commits(sqlite3 *source, sqlite3 *db, int count) {
    table operations = load(source, "operation", "WHERE kind < 0 LIMIT 1");
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
