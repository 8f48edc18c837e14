"""The transformers that training loads by name, the device they run on, and the steps of training one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from treeline.corpus.errors import InputError
from treeline.corpus.hub import load_model

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Model = TypeVar("Model")
MODULES = "modules.json"  # present in sentence-transformers models


def device_of(asked: str) -> str:
    """The requested device; by default a GPU if there is one."""
    return asked or ("cuda" if torch.cuda.is_available() else "cpu")


def embedding_model(name: str, device: str) -> SentenceTransformer:
    """A sentence-transformers model, or another model with pooling added; a causal one pools its last token."""

    def make(local: bool) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        model: SentenceTransformer = SentenceTransformer(name, device=device, local_files_only=local)
        return model

    model = _loaded(name, make)
    model.float()  # many are stored in half precision, which loses small updates
    transformer: Any = model[0]
    architectures: list[str] = transformer.auto_model.config.architectures or []
    if any(one.endswith("ForCausalLM") for one in architectures) and not _says_how(name):
        _read_to_the_end(model)
    return model


def writing_model(name: str, device: str) -> tuple[Any, Any]:
    """A causal language model and its tokenizer."""

    def make(local: bool) -> tuple[Any, Any]:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=local)  # type: ignore[no-untyped-call]
        model: Any = AutoModelForCausalLM.from_pretrained(name, local_files_only=local)
        return model.float().to(device), tokenizer  # half precision loses small updates

    model, tokenizer = _loaded(name, make)
    if tokenizer.eos_token_id is None:
        raise InputError(f"{name} has no token that ends a text", "take a model that writes text")
    return model, tokenizer


def bert_model(name: str) -> tuple[Any, list[str]]:
    """A model of BERT's architecture, and its tokens in order."""

    def make(local: bool) -> tuple[Any, list[str]]:
        from transformers import AutoModel, AutoTokenizer

        places = AutoTokenizer.from_pretrained(name, local_files_only=local).get_vocab()  # type: ignore[no-untyped-call]
        return AutoModel.from_pretrained(name, local_files_only=local).float(), sorted(places, key=places.__getitem__)

    model, tokens = _loaded(name, make)
    if model.config.model_type != "bert":
        raise InputError(f"{name} is no BERT but {model.config.model_type}", "take one, such as all-MiniLM-L6-v2")
    return model, tokens


def _loaded(name: str, make: Callable[[bool], Model]) -> Model:
    try:
        return load_model(name, make)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        first_line = str(error).strip().split("\n")[0]
        raise InputError(f"{name!r} cannot be loaded: {first_line}", "give a model's name or its folder") from error


def _says_how(name: str) -> bool:
    if Path(name).exists():
        return (Path(name) / MODULES).is_file()
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, MODULES), str)


def _read_to_the_end(model: SentenceTransformer) -> None:
    """Pool the end token, the only one that has seen the whole text; saved with the model."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = model.tokenizer
    end = tokenizer.eos_token
    tokenizer.pad_token = tokenizer.pad_token or end
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, tokenizer.eos_token_id)]
    )
    pooling: Any = model[1]
    model[1] = type(pooling)(pooling.get_embedding_dimension(), "lasttoken")


WARM_UP = 50  # steps of linear warm-up, or a tenth of a short run


def warm_then_cosine(optimiser: torch.optim.Optimizer, steps: int) -> torch.optim.lr_scheduler.LambdaLR:
    """A learning-rate schedule: linear warm-up, then cosine decay over `steps`."""
    warm_up = max(1, min(WARM_UP, steps // 10))

    def height(step: int) -> float:
        return min(1.0, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / max(1, steps))))

    return torch.optim.lr_scheduler.LambdaLR(optimiser, height)


def optimise(
    student: nn.Module,
    loss: Callable[[], Tensor],
    say: Callable[[str], None],
    *,
    steps: int,
    rate: float,
    new: tuple[str, ...],
    faster: float,
    betas: tuple[float, float] = (0.9, 0.999),
) -> None:
    """Take so many steps down the loss, which is computed before each.

    Parameters whose names start with one of `new`, which no model brings, learn so many times `faster`.
    """
    student.train()
    own = [value for name, value in student.named_parameters() if name.startswith(new)]
    inputs = [value for name, value in student.named_parameters() if not name.startswith(new)]
    rates = [{"params": inputs, "lr": rate}, {"params": own, "lr": rate * faster}]
    optimiser = torch.optim.AdamW(rates, weight_decay=0.01, betas=betas)
    schedule = warm_then_cosine(optimiser, steps)
    for step in range(steps):
        here = loss()
        optimiser.zero_grad(set_to_none=True)
        here.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            say(f"step {step + 1} of {steps}: loss {here.item():.3f}")
    student.eval()
