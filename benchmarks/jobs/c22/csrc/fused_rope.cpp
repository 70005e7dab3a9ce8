#define _GLIBCXX_USE_CXX11_ABI 0
#include <Python.h>
#include <string>
namespace c10 { namespace detail { void torchCheckFail(const char*, const char*, unsigned int, const std::string&); } }
static PyObject* rope(PyObject*, PyObject* a) {
  double x; if (!PyArg_ParseTuple(a, "d", &x)) return NULL;
  if (x < 0) c10::detail::torchCheckFail("rope", __FILE__, __LINE__, std::string("expected x >= 0"));
  return PyFloat_FromDouble(x * 0.5);
}
static PyMethodDef M[] = {{"rope", rope, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static PyModuleDef D = {PyModuleDef_HEAD_INIT, "fused_rope_cpp", NULL, -1, M};
PyMODINIT_FUNC PyInit_fused_rope_cpp(void) { return PyModule_Create(&D); }
