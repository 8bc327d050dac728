"""`starlight completion bash|zsh`: a script for the shell, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

_BASH: Final = """\
# starlight: completion for bash.  eval "$(starlight completion bash)"
_starlight() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" path="starlight" word index
    for ((index = 1; index < COMP_CWORD; index++)); do
        word="${{COMP_WORDS[index]}}"
        [[ $word != -* && -n ${{_starlight_words["$path $word"]+x}} ]] && path="$path $word"
    done
    COMPREPLY=($(compgen -W "${{_starlight_words["$path"]}}" -- "$cur"))
}}
declare -gA _starlight_words=(
{words}
)
complete -o default -F _starlight starlight
"""
_ZSH_HEAD: Final = """\
# starlight: completion for zsh.  eval "$(starlight completion zsh)"
autoload -Uz +X bashcompinit && bashcompinit
"""


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for `shell`: bash, or zsh through its own bash completion."""
    lines = [f'    ["{path}"]="{" ".join(words)}"' for path, words in _words(parser, parser.prog)]
    bash = _BASH.format(words="\n".join(lines))
    return bash if shell == "bash" else _ZSH_HEAD + bash


def _words(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """Every command below `path` with the words that may follow it."""
    actions = parser._actions  # noqa: SLF001 - argparse offers no other way to walk its tree
    options = [option for action in actions for option in action.option_strings if option.startswith("--")]
    offered = [action.choices for action in actions if action.choices and not action.option_strings]
    yield path, sorted({*options, *(str(choice) for choices in offered for choice in choices)})
    for choices in offered:
        if isinstance(choices, dict):
            for name, child in choices.items():
                yield from _words(child, f"{path} {name}")
