#include <pybind11/pybind11.h>
PYBIND11_MODULE(fused_bias, m) {
  m.def("version", []() { return 1; });
  m.def("scale", []() { return 0.01; });
}
