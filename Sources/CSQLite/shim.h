#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

#include <sqlite3.h>

/// Has SQLite refuse text in double quotes that names no column, which it would otherwise take for a string.
///
/// `sqlite3_db_config` has a variable number of arguments, and cannot be called from Swift.
static inline void peerd_refuse_double_quoted_strings(sqlite3 *database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0);
}

#endif
