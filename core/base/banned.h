/* SPDX-License-Identifier: MIT
 *
 * banned.h: included before every file; turns unsafe C functions into compile errors. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(name) name##_is_banned
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef strtok
#undef gets
#undef atoi
#undef atol
#undef atof
#undef gmtime
#undef localtime
#undef ctime
#undef asctime
#define strcpy(a, b) BANNED(strcpy)
#define strcat(a, b) BANNED(strcat)
#define strncpy(a, b, n) BANNED(strncpy)
#define strncat(a, b, n) BANNED(strncat)
#define sprintf(...) BANNED(sprintf)
#define vsprintf(a, b, c) BANNED(vsprintf)
#define strtok(a, b) BANNED(strtok)
#define gets(a) BANNED(gets)
#define atoi(a) BANNED(atoi)
#define atol(a) BANNED(atol)
#define atof(a) BANNED(atof)
#define gmtime(a) BANNED(gmtime)
#define localtime(a) BANNED(localtime)
#define ctime(a) BANNED(ctime)
#define asctime(a) BANNED(asctime)

#endif
