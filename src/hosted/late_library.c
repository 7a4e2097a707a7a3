#include "hosted/late_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct err *open_locked(struct late_library *library)
{
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; handle && i < library->count; i++) {
		void *found = dlsym(handle, library->names[i]);

		if (!found)
			return err_create("%s has no %s", library->file, library->names[i]);
		memcpy((char *)library->table + i * sizeof(found), &found, sizeof(found));
	}
	library->is_open = handle;
	return handle ? NULL
		      : err_create("%s is needed for this, and cannot be loaded: %s", library->file,
				   dlerror());
}

struct err *late_library_open(struct late_library *library)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct err *err = NULL;

	pthread_mutex_lock(&mutex);
	if (!library->is_open)
		err = open_locked(library);
	pthread_mutex_unlock(&mutex);
	return err;
}
