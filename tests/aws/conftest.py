from tests.support.emulators import aws_emulator

__all__ = ["aws_emulator"]
