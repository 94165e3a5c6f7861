"""What a release takes: built, checked, installed on every Python at hand, listed and summed. It uploads nothing."""
