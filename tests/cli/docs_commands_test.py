#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents are true: every command line in them and in the help runs as it stands there.

    docs_commands_test.py SPLITWAVE

Each command runs in a folder of its own that holds the files its line may name. Where a document prints the error of a
command, the status must be 2. What stands below a line `$ splitwave ...` is what the command prints, to the letter; `...`
stands for what is left out, whole lines where it stands alone. SPLITWAVE_ACCEPT_GOLDEN=1 puts the present output into the
documents, where nothing is left out."""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENTS = ["README.md"] + [f"docs/{name}.md" for name in
                             ("advise", "cli", "determinism", "end_to_end", "explain", "numerics", "records", "reports", "schedules", "simulator", "sweep", "verify", "workloads")]
VERBS = ["", "advise", "calibrate", "compare", "end-to-end", "explain", "gpus", "plan", "report", "run", "schedules", "simulate", "sweep", "verify",
         "records", "records convert", "records diff", "records filter", "records merge", "workload", "workload generate", "workload import", "workload show", "workload tensors", "workload validate"]

# What is not run here, and why.
LEFT_OUT = {
    r"\.\.\.|VERB|DIR": "a pattern, no command",
    r"splitwave compare": "takes minutes",
    r"splitwave run": "measures for seconds; run_test.cpp does it",
    r"splitwave verify": "needs a kernel's output; verify_test.cpp does it",
    r"--executor cuda": "needs a GPU",
    r"--merge": "needs the shards of earlier commands",
    r"--axis batch=1:100": "a million points, of which a sanitizer makes half an hour; sweep_test.cpp sweeps",
    r"--reproduce": "predicts every figure of four papers; pictures_test.cpp does it",
}

WORKLOAD = '{"format": 1, "name": "w", "model": "llama-3-8b", "requests": [{"context_len": 64}]}\n'
RECORD = ('{"workload": "%s", "schedule": "fa2", "executor": "simulator", "machine": "h200", "seconds": 1e-5, "commit": "c", '
          '"version": "v"}\n')
FILES = {
    "mine.jsonl": RECORD % "mine",
    "records.jsonl": RECORD % "records",
    "predicted.jsonl": RECORD % "predicted",
    "measured.jsonl": RECORD % "measured",
    "out/mine/records.jsonl": RECORD % "out",
    "times.csv": "workload,schedule,executor,machine,seconds,q_heads,kv_heads,head_dim,batch,kv_len,kernel,latency_us\n"
                 "w,fa2,cpu,m,1e-3,8,1,64,2,512,FA3,12.5\n",
    "mla.csv": "shape,kernel,microseconds,batch,heads,context\ns,flashmla,12.5,1,16,512\n",
    "monday.jsonl": RECORD % "mine",
    "tuesday.jsonl": (RECORD % "mine").replace("1e-5", "1.01e-5"),
    "batch.json": WORKLOAD,
    "suite.json": WORKLOAD,
    "config.json": '{"model_type": "llama", "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, '
                   '"num_hidden_layers": 32}\n',
    "azure_conv.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,4808,10\n",
    "mooncake.jsonl": '{"timestamp": 27482, "input_length": 6955, "output_length": 52}\n',
}


def commands_of_document(text):
    """(command line, its comment, the line after it) of the indented and fenced blocks, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", text)
    lines = text.splitlines()
    fenced = False
    for line, following in zip(lines, lines[1:] + [""]):
        if line.startswith("```"):
            fenced = not fenced
        if not (fenced or line.startswith("    ")):
            continue
        found = re.match(r"\s*(?:\$ )?(?:splitwave|\$S) (.*)", line)
        if found:
            command, _, comment = found[1].partition(" #")
            yield "splitwave " + command.split(" | ")[0].strip(), comment.strip(), following.strip()


def commands_of_help(splitwave, verb):
    text = subprocess.run([splitwave, *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        if line.startswith("  splitwave "):
            yield line.strip().split("  ")[0]


def blocks_of_document(text):
    """The lines of its fenced and indented blocks, one list each, as they stand there."""
    block, fenced = [], False
    for line in text.splitlines() + ["end"]:
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    ") or not line:
            block.append(line)
            continue
        yield block
        block = []


def outputs_of_document(text):
    """(command line, what it prints in the document as the lines that stand there) where the document prints anything."""
    for block in blocks_of_document(text):
        starts = [i for i, line in enumerate(block) if re.match(r" *\$ ", line)]
        for start, end in zip(starts, starts[1:] + [len(block)]):
            output = start + 1
            while block[output - 1].endswith("\\"):
                output += 1
            command = " ".join(line.strip(" \\") for line in block[start:output])[2:]
            printed = "\n".join(block[output:end]).rstrip("\n")
            if printed and command.startswith("splitwave "):
                yield command, printed


def without_indent(printed):
    return re.sub(r"^    ", "", printed, flags=re.MULTILINE) if printed.startswith("    ") else printed


def is_printed(documented, output):
    """Whether a document's lines are this output, but for what they leave out."""
    lines = [r"(?:.*\n)*" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r" *\n"
             for line in documented.splitlines()]
    return re.fullmatch("".join(lines), output.strip("\n") + "\n") is not None


def is_left_out(command):
    return any(re.search(pattern, command) for pattern in LEFT_OUT)


@functools.lru_cache(maxsize=None)
def run(splitwave, command):
    """Status, output and errors of a command line, as a shell runs it where splitwave is installed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            pathlib.Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(folder, name).write_text(text)
        path = os.pathsep.join([str(pathlib.Path(splitwave).resolve().parent), os.environ["PATH"]])
        done = subprocess.run(["sh", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, text=True,
                              capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr


def check_commands(splitwave):
    expected = {}  # command line -> its status
    for document in DOCUMENTS:
        for command, _, following in commands_of_document((ROOT / document).read_text()):
            expected[command] = 2 if following.startswith("splitwave: ") else 0
    for verb in VERBS:
        for command in commands_of_help(splitwave, verb):
            expected[command] = 0
    checked = {c: s for c, s in expected.items() if not is_left_out(c)}
    problems = [f"only {len(checked)} command lines are left to run"] if len(checked) < 40 else []
    for command, wanted in checked.items():
        # The default table of advise has 81 points, which takes seconds.
        small = " --batch 1" if "splitwave advise" in command and "--batch" not in command else ""
        status, _, errors = run(splitwave, command + small)
        # 3: the build left out the program that draws.
        undrawn = status == 3 and "splitwave report" in command and "built without the program" in errors
        if status != wanted and not undrawn:
            problems.append(f"{command}\n    has status {status} instead of {wanted}: {errors.strip()}")
    return problems


def check_outputs(splitwave):
    """What documents print is what their commands print now."""
    assert is_printed("a  1 µs\n...\nd 4 ... 5", "a  1 µs\nb\nc\nd 4 and 5\n") and not is_printed("a 1 µs", "a 2 µs\n")
    assert not is_printed("a\n...", "b\n") and is_printed("...", "") and not is_printed("a", "a\nb\n")
    problems = []
    compared = 0
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for command, printed in outputs_of_document(text):
            if is_left_out(command):
                continue
            compared += 1
            status, output, errors = run(splitwave, command)
            output = errors if status == 2 else output
            documented = without_indent(printed)
            if is_printed(documented, output):
                continue
            if "..." not in documented and status in (0, 2) and os.environ.get("SPLITWAVE_ACCEPT_GOLDEN"):
                indent = "    " if printed.startswith("    ") else ""
                lines = [(indent + line).rstrip() for line in output.strip("\n").splitlines()]
                text = text.replace(printed, "\n".join(lines))
                (ROOT / document).write_text(text)
            else:
                problems.append(f"{document}: {command}\n    prints\n{output}    and not\n{documented}")
    return problems + ([f"only {compared} outputs are left to compare"] if compared < 6 else [])


def check_sequence_aware_example(splitwave):
    """The README's example sets two rules side by side that answer differently, as its comment says."""
    for command, comment, _ in commands_of_document((ROOT / "README.md").read_text()):
        if "seq-aware" in command:
            said = [int(number) for number in re.findall(r"\d+", comment)]
            plans = [json.loads(line) for line in run(splitwave, command + " --json")[1].splitlines()]
            got = [plan["num_splits"] for plan in plans]
            return [] if got == said and len(set(got)) == 2 else [f"{command}: the README says {said}, it is {got}"]
    return ["README.md: no example of seq-aware"]


def check_sweep_fields(splitwave):
    """docs/sweep.md names the fields that there are, all but those of machines and kernels."""
    rows = run(splitwave, "splitwave sweep --fields")[1].splitlines()[1:]
    fields = {row.split()[0] for row in rows}
    table = (ROOT / "docs/sweep.md").read_text().split("| field | varies |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines() if "|" in row for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    problems = [f"docs/sweep.md names {name}, which is no field" for name in sorted(named - fields)]
    missing = {name for name in fields - named if not name.startswith(("machine.", "kernel."))}
    return problems + [f"docs/sweep.md lacks the field {name}" for name in sorted(missing)]


def main():
    splitwave = sys.argv[1]
    problems = check_commands(splitwave) + check_outputs(splitwave)
    problems += check_sequence_aware_example(splitwave) + check_sweep_fields(splitwave)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
