"""② Which GPU each reading is of: by index, UUID or bus id, else by its place within a block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpudiag.timeline.fields import FACT_FIGURES, FACT_TEXTS
from gpudiag.timeline.readings import Readings, texts_at

MOST_GPUS = 64
_SINGLE_BLOCK = 16
# Rows of one query are written within this time; nobody samples one GPU as fast and unevenly.
_ONE_QUERY_S = 0.5
# Two writers of one file change places at almost every row, jobs one after another hardly ever.
_TURNS = 0.1


def numbers(readings: Readings) -> tuple[np.ndarray, np.ndarray | None]:
    """The GPU number of each reading, and the number of its block where blocks gave it.

    Adds notes for what had to be assumed, and drops readings whose GPU cannot be told.
    """
    index = readings.figures.pop("index", None)
    readings.reasons.pop("index", None)
    if index is not None and not np.isnan(index).all():
        readings.figures["index"] = index
        gpu = _by_index(readings)
        readings.figures.pop("index")
        return _cards_apart(readings, gpu), None
    for role, what in (("uuid", "UUID"), ("bus", "bus id")):
        if role in readings.texts and (readings.texts[role][0] >= 0).any():
            return _by_text(readings, role, what), None
    return _by_place(readings)


def _by_index(readings: Readings) -> np.ndarray:
    """The index column; a row that lost it takes the number missing between its neighbours."""
    index = readings.figures["index"]
    unknown = np.isnan(index)
    if not unknown.any():
        return index.astype(np.int64)
    filled = index.copy()
    present = np.unique(index[~unknown])
    top = int(present.max())
    for at in np.flatnonzero(unknown):
        before = filled[at - 1] if at else -1.0
        expected = before + 1 if before < top else 0.0
        after = index[at + 1] if at + 1 < len(index) else np.nan
        alone = len(present) == 1 and not (after > before + 1)
        filled[at] = before if alone and before >= 0 else expected
        if not alone and not np.isnan(after) and after <= filled[at] and after != 0:
            filled[at] = np.nan
    count = int(unknown.sum())
    readings.notes.append(f"Rows without a GPU index went to the GPU whose turn it was: {count:,}.")
    readings.figures["index"] = filled
    readings.drop(np.isnan(filled), "no index, and which GPU it is cannot be told")
    return readings.figures["index"].astype(np.int64)


def _cards_apart(readings: Readings, gpu: np.ndarray) -> np.ndarray:
    """Keep two cards apart that stand under one index (two machines or jobs in one file)."""
    role = next((r for r in ("uuid", "bus", "name") if r in readings.texts), None)
    if role is None:
        return gpu
    codes, words = readings.texts[role]
    free = int(gpu.max()) + 1
    for number in np.unique(gpu):
        # Drivers since 2021 write "NVIDIA" before the names that older ones wrote without it.
        seen = dict.fromkeys(codes[gpu == number].tolist())
        plain = {c: words[c].lower().removeprefix("nvidia ") for c in seen if c >= 0}
        cards = [c for c in plain if c == next(o for o in plain if plain[o] == plain[c])]
        if len(cards) > 1 and role != "name" and _in_turn(readings, gpu == number, codes):
            readings.notes.append(
                f"Index {number} stands for {len(cards)} cards of one model in turn (jobs one "
                f"after another): {', '.join(words[card][:60] for card in cards[:4])}. They were "
                "read as one GPU."
            )
        elif len(cards) > 1 and free + len(cards) - 1 <= MOST_GPUS:
            for card in cards[1:]:
                same = [c for c in plain if plain[c] == plain[card]]
                gpu = np.where((gpu == number) & np.isin(codes, same), free, gpu)
                readings.notes.append(
                    f"Index {number} stands for two different cards: {words[cards[0]]} and "
                    f"{words[card]}. They are kept apart, the second as GPU {free}."
                )
                free += 1
    return gpu


def _in_turn(readings: Readings, where: np.ndarray, codes: np.ndarray) -> bool:
    """Whether cards under one index are of one model and follow each other, never side by side."""
    models = {word.lower().removeprefix("nvidia ") for word in texts_at(readings, "name", where)}
    changes = int((np.diff(codes[where]) != 0).sum())
    return len(models) < 2 and changes <= _TURNS * int(where.sum())


def _by_text(readings: Readings, role: str, what: str) -> np.ndarray:
    codes, words = readings.texts[role]
    readings.drop(codes < 0, f"no {what}, and no index")
    codes, words = readings.texts[role]
    seen = list(dict.fromkeys(codes.tolist()))
    if role == "bus":
        # nvidia-smi numbers GPUs in the order of their bus ids.
        seen.sort(key=lambda code: words[code])
    order = {code: number for number, code in enumerate(seen)}
    if len(seen) > 1:
        readings.notes.append(
            f"The log has no GPU index; GPUs are numbered by {what}, ascending."
            if role == "bus"
            else f"The log has no GPU index; GPUs are numbered by {what}, in the order of their "
            "first row."
        )
    return np.array([order[code] for code in codes], dtype=np.int64)


def _by_place(readings: Readings) -> tuple[np.ndarray, np.ndarray | None]:
    """GPU numbers by the place within a block of rows, if blocks can be told."""
    for blocks_of, what in _WAYS:
        blocks = blocks_of(readings)
        if blocks is None:
            continue
        starts = np.flatnonzero(np.diff(blocks, prepend=blocks[0] - 1))
        sizes = np.diff([*starts, len(blocks)])
        count = _gpus_a_block(sizes, single=what == "date")
        if count is None:
            continue
        if count == 1:
            return np.zeros(len(blocks), dtype=np.int64), None
        return _placed(readings, blocks, starts, sizes, count, what)
    if len(readings) > 1:
        doubt = (
            f"its {len(readings)} rows may be as many GPUs at one moment"
            if len(readings) <= _SINGLE_BLOCK
            else "several GPUs may be mixed"
        )
        readings.notes.append(
            "The log has no GPU index and nothing that parts one moment from the next: how many "
            f"GPUs it holds cannot be told. It was read as one GPU, but {doubt}. Log the index too."
        )
    return np.zeros(len(readings), dtype=np.int64), None


def _gpus_a_block(sizes: np.ndarray, single: bool) -> int | None:
    """How many GPUs blocks of these sizes hold; None if that cannot be told."""
    if len(sizes) == 1:
        return int(sizes[0]) if single and sizes[0] <= _SINGLE_BLOCK else None
    inner = sizes[:-1]
    values, counts = np.unique(inner, return_counts=True)
    count = int(values[counts.argmax()])
    if counts.max() < 0.8 * len(inner) or count > MOST_GPUS:
        return None
    if count > 1 and len(inner) < 2 and sizes[-1] > count:
        return None
    return count


def _placed(
    readings: Readings,
    blocks: np.ndarray,
    starts: np.ndarray,
    sizes: np.ndarray,
    count: int,
    what: str,
) -> tuple[np.ndarray, np.ndarray]:
    place = np.arange(len(blocks)) - np.repeat(starts, sizes)
    block = np.repeat(np.arange(len(sizes)), sizes)
    whole = (sizes == count) | ((np.arange(len(sizes)) == len(sizes) - 1) & (sizes < count))
    readings.notes.append(
        f"The log has no GPU index: {count} rows belong to each {_MOMENT[what]}, so it was read "
        f"as {count} GPUs numbered by their place there."
    )
    sound = np.repeat(whole, sizes)
    readings.drop(~sound, f"not {count} rows in its block: which GPUs they are cannot be told")
    return place[sound], block[sound]


def _by_stamp(readings: Readings) -> np.ndarray | None:
    if readings.time is not None or readings.stamp.max(initial=-1) < 0:
        return None
    return readings.stamp


def _by_mark(mark: str) -> Callable[[Readings], np.ndarray | None]:
    def blocks(readings: Readings) -> np.ndarray | None:
        values: np.ndarray = getattr(readings, mark)
        return values if len(values) > 1 and values[0] != values[-1] else None

    return blocks


def _by_pause(readings: Readings) -> np.ndarray | None:
    """Rows of one query follow each other at once, then comes a pause."""
    time = readings.time
    if time is None or len(time) < 2 or np.isnan(time).any():
        return None
    steps = np.abs(np.diff(time))
    long = float(np.percentile(steps, 95))
    pause = steps >= min(0.3 * long, _ONE_QUERY_S) if long > 0 else steps >= 0
    return np.concatenate([[0], np.cumsum(pause)])


def _by_turn(readings: Readings) -> np.ndarray | None:
    """Memory that stands still on each GPU but differs between them betrays whose turn it is."""
    for role in ("mem_used_mib", "mem_total_mib"):
        values = readings.figures.get(role)
        if values is None or len(values) < 6 or np.isnan(values).any():
            continue
        if np.mean(values[1:] == values[:-1]) > 0.5:
            continue  # it mostly repeats the row before: one GPU at rest
        for count in range(2, _SINGLE_BLOCK + 1):
            if len(values) < 3 * count:
                break
            if np.mean(values[count:] == values[:-count]) >= 0.9:
                return np.arange(len(values)) // count
    return None


_WAYS: tuple[tuple[Callable[[Readings], np.ndarray | None], str], ...] = (
    (_by_stamp, "date"),
    (_by_mark("rule"), "rule"),
    (_by_pause, "pause"),
    (_by_mark("head"), "head"),
    (_by_turn, "turn"),
)
_MOMENT = {
    "date": "date line",
    "rule": "block between separators",
    "pause": "moment (their times are close together)",
    "head": "header",
    "turn": "moment (their memory repeats in turn)",
}


def facts(readings: Readings, gpu: np.ndarray, number: int) -> dict[str, object]:
    """What the log says of GPU `number` that stands still: name, UUID, totals, limits, driver."""
    where = gpu == number
    found: dict[str, object] = {"index": int(number)}
    for role in FACT_TEXTS:
        if words := texts_at(readings, role, where):
            found["bus_id" if role == "bus" else role] = words[0]
    for role in FACT_FIGURES:
        values = readings.figures.get(role, np.array([]))
        values = values[where] if len(values) else values
        kinds, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        if len(kinds):
            found[role] = float(kinds[counts.argmax()])
        if len(kinds) > 1:
            readings.notes.append(
                f"GPU {number}: {role} changes between {kinds[0]:g} and {kinds[-1]:g}."
            )
    return found
