# shellcheck shell=bash disable=SC1003,SC2016,SC2034,SC2054,SC2088,SC2154
# What torchrun starts, one word a line.
arguments=(
  '/srv/the code/train.py'
  ''
  ' '
  'two words'
  'a,b;c|d&e'
  'it'"'"'s'
  'say "hi"'
  '$HOME ${IFS} $(id) `id`'
  'line 1
line 2
'
  $'\x09tab\\back\\'
  -x
  --launcher=evil
  '~/x ~root {a,b} [a-z]* ?'
  'ü→漢​ 😀'
  '%n %h %u %%'
  '!! #comment'
  a=b
  '}}{{ 7*7 }}{% raw %}'
  $'\x01\x1b[31m\x7f'
  '</script>'"'"'"><'
)
