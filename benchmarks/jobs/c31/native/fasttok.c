#include <Python.h>
int tk_count(const char*);
static PyObject* count(PyObject* s, PyObject* a) { const char* t; if (!PyArg_ParseTuple(a, "s", &t)) return NULL; return PyLong_FromLong(tk_count(t)); }
static PyMethodDef M[] = {{"count", count, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef D = {PyModuleDef_HEAD_INIT, "_fasttok", NULL, -1, M};
PyMODINIT_FUNC PyInit__fasttok(void) { return PyModule_Create(&D); }
