# SPDX-License-Identifier: Apache-2.0
# Completion for bash: source this file, or install it as share/bash-completion/completions/splitwave.

_splitwave_names() {  # first column of a listing verb
  "${COMP_WORDS[0]}" "$1" 2>/dev/null | awk 'NR > 1 && NF == 0 { exit } NR > 1 { print $1 }'
}

_splitwave_options() {
  local workload='--workload --seed' machine='--gpu --sms --bandwidth --l2 --clock --ctas-per-sm --kernel --measure-cpu'
  case $1 in
    '') echo '--version' ;;
    compare) echo "$workload $machine --schedule --executor --threads --samples --energy --calibration --out --json" ;;
    simulate) echo "$workload $machine --schedule --threads --out --json" ;;
    plan) echo "$workload $machine --schedule --threads --json --full" ;;
    run)
      echo "$workload --schedule --algorithm --rounding --gpu --executor --threads --sms --sample --samples --repeat --energy --calibration --out --trace --json" ;;
    verify)
      echo "$workload --output --lse --tensors --array --causal --no-causal --window --scale --lse-base --layout" \
        '--kv-layout --weights --sixteen-bits --no-diagnosis --sample --junit --json' \
        "--batch-invariance $machine --schedule --executor --threads" ;;
    sweep)
      echo "$workload $machine --schedule --axis --out --resume --shard --merge --chunk --threads --plot --csv --fields --json" ;;
    end-to-end) echo "--model $machine --schedule --prompt --ratio --batch --threads --out --json" ;;
    explain) echo "$workload $machine --schedule --threads --trace --gantt --json" ;;
    advise)
      echo "--model $machine --batch --context --query-len --available --max-splits --schedule --format --file" \
        '--plot --threads --json' ;;
    report) echo '--reproduce --out --baseline --figure --column --workloads --title --strict --json' ;;
    'records merge') echo '--from --strict --output --json' ;;
    'records filter') echo '--where --from --strict --output --json' ;;
    'records convert') echo '--to --from --strict --output --json' ;;
    'records diff') echo '--from --strict --tolerance --json' ;;
    calibrate) echo '--executor --threads --kernel-out --like --only-energy --out --points --from-points --json' ;;
    'workload show') echo "$workload --json" ;;
    'workload tensors') echo "$workload --out --format --json" ;;
    'workload validate' | gpus | schedules | algorithms) echo '--json' ;;
    'workload import')
      echo '--batch --tensor-parallel --model --steps --max-running --step-seconds --seed --output --json' ;;
    'workload generate')
      echo '--model --tensor-parallel --name --batch --query-len --context-len --max-context-len --ratio' \
        '--mean-context-len --exponent --long-context-len --short-context-len --lengths --seed --output --json' ;;
  esac
}

_splitwave() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local verb=${COMP_WORDS[1]:-} before='' words=''
  [[ $COMP_CWORD -le 1 ]] && verb=''
  if [[ ($verb == workload || $verb == records) && $COMP_CWORD -gt 2 ]]; then
    verb="$verb ${COMP_WORDS[2]}"
  fi
  case $previous in
    --like) words=$(_splitwave_names gpus) ;;
    --gpu) words="cpu $(_splitwave_names gpus)" ;;
    --schedule | --available) words=$(_splitwave_names schedules) ;;
    --algorithm) words="all $(_splitwave_names algorithms)" ;;
    --rounding)
      words='all fa2 fa3 lean lean:ort flashinfer flashinfer:cuda-cores flashmla etap standard fa3-fp8'
      words+=' fa3-fp8:per-tensor fa3-fp8:coherent standard-fp8 f16-accumulator f32 f64'
      ;;
    --from | --to) words='jsonl csv flashinfer vllm nvbench' ;;
    --executor) words='cpu cuda' ;;
    --format) [[ $verb == 'workload tensors' ]] && words='npy safetensors' || words='table csv json cpp python' ;;
    --lse-base) words='e 2' ;;
    --layout | --kv-layout) words='token head' ;;
    --weights) words='f16 bf16 tf32 f32 f64' ;;
    --sixteen-bits) words='f16 bf16' ;;
    -w | --workload | --workloads | --kernel | --kernel-out | --calibration | --out | --output | --merge | --file | --points | --trace | --gantt | --lse | --tensors | --array | --junit) COMPREPLY=($(compgen -f -- "$current")); return ;;
    --baseline | --column | --title) return ;;
    --figure) words='bandwidth energy error_distribution heat_map io merge_share predicted_measured ragged regret roofline sm_count speed_up speed_up_by_batch speed_up_by_context speed_up_by_heads splits waves' ;;
    --seed | --sms | --bandwidth | --l2 | --clock | --ctas-per-sm | --threads | --samples | --repeat | --shard | --chunk | --query-len | --max-splits | --tolerance | --where) return ;;
  esac
  if [[ -n $words ]]; then
    if [[ $current == *,* ]]; then  # lists: complete what follows the last comma
      before=${current%,*},
      current=${current##*,}
    fi
    COMPREPLY=($(compgen -P "$before" -W "$words" -- "$current"))
    return
  fi
  case $verb in
    '') words='compare simulate plan run verify workload gpus schedules algorithms sweep end-to-end explain advise report calibrate records' ;;
    records) words='merge filter convert diff' ;;
    records\ *) [[ $current != -* ]] && COMPREPLY=($(compgen -f -- "$current")) && return ;;
    workload) words='show validate import generate tensors' ;;
    'workload generate') words='uniform ragged zipf one_long published' ;;
    gpus) words=$(_splitwave_names gpus) ;;
    report) [[ $current != -* ]] && COMPREPLY=($(compgen -f -- "$current")) && return ;;
    'workload validate' | 'workload import') [[ $current != -* ]] && COMPREPLY=($(compgen -f -- "$current")) && return ;;
  esac
  COMPREPLY=($(compgen -W "$words $(_splitwave_options "$verb") --help" -- "$current"))
}

complete -o filenames -F _splitwave splitwave
