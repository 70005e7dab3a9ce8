# shellcheck shell=bash disable=SC1003,SC2016,SC2034,SC2054,SC2088,SC2154
# The ranks' variables, for `env`.
environment=(
  PATH='/shared/my env/bin:'"$PATH"
  CUDA_DEVICE_ORDER=PCI_BUS_ID
  OMP_NUM_THREADS=1
  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
  V0=
  V1=' '
  V10=--launcher=evil
  V11='~/x ~root {a,b} [a-z]* ?'
  V12='ü→漢​ 😀'
  V13='%n %h %u %%'
  V14='!! #comment'
  V15=a=b
  V16='}}{{ 7*7 }}{% raw %}'
  V17=$'\x01\x1b[31m\x7f'
  V18='</script>'"'"'"><'
  V2='two words'
  V3='a,b;c|d&e'
  V4='it'"'"'s'
  V5='say "hi"'
  V6='$HOME ${IFS} $(id) `id`'
  V7='line 1
line 2
'
  V8=$'\x09tab\\back\\'
  V9=-x
  ALLRANKS_OUTPUT_DIR='/out put/$x/hostile'
)
case $node in
  1) environment+=(ONE_NODE='only '"'"'beta'"'"'
$HOME') ;;
esac
