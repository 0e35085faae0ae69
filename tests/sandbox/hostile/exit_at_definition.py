# stage: unsafe; without checks: compile

import sys

sys.exit(0)
