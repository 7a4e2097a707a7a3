/*
 * What the files of scripts are called where there is no room for their paths: by the last part,
 * and by as many folders as tell a file from the others of its recording:
 *
 *	/srv/shop/app.py              app.py
 *	/srv/shop/orders/models.py    orders/models.py
 *	/srv/shop/users/models.py     users/models.py
 *	/srv/shop/orders/__init__.py  orders/__init__.py     never without its folder
 *
 * Labels of functions end in these names, so functions of two files never share a label.
 */
#ifndef MALLOW_ANALYSIS_NAMES_SCRIPT_FILES_H
#define MALLOW_ANALYSIS_NAMES_SCRIPT_FILES_H

#include "analysis/recording.h"

/* *ret: of each module how many parts of its path its name has; 0: no script's. free() it. */
struct err *script_files_parts(const struct recording *recording, uint8_t **ret);

/* The last parts of a path, or all of it. */
const char *script_files_name(const char *path, unsigned parts);

/*
 * The language that a recorded program interprets, by the name of its file: "Python", "PHP",
 * "Ruby". NULL: none of them, or another program that has an interpreter in it. As interpreted() of
 * web/src/text/names.ts.
 */
const char *script_files_language(const struct recording *recording);

/* Whether the file is the code of a package as such: its folder has the package's name. */
bool script_files_is_package(const char *path);

#endif
