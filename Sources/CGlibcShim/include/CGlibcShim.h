// Stands in for functions that only newer C libraries have. Nothing is called by name from Swift: what is
// linked in finds these in place of the library's, and one runs by itself before `main`.

#ifndef CGLIBCSHIM_H
#define CGLIBCSHIM_H

#endif
