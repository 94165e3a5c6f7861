import sys

from tests.storm.run import main

sys.exit(main())
