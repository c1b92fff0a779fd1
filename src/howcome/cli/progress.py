"""Progress bars, without the thread that looks after them: there may be none to have, and nobody needs it."""

from tqdm import tqdm

tqdm.monitor_interval = 0

__all__ = ["tqdm"]
