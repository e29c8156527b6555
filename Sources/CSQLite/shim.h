#include <sqlite3.h>

/* Swift cannot call functions with variable arguments. Without this, "name" is a text where no column has
   the name: a misspelt column would be compared with its own spelling (sqlite.org/quirks.html, 8). */
static inline int csqlite_refuse_double_quoted_text(sqlite3 *connection) {
  int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
  if (code != SQLITE_OK) return code;
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
}

/* Says that SQLite has to copy what it is given; a cast of -1 to a function, which Swift has no word for. */
static inline sqlite3_destructor_type csqlite_copied(void) { return SQLITE_TRANSIENT; }
