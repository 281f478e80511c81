"""Fixtures that every suite shares. Real parts are started once a session, as child processes, on free ports."""
