"""Publishing: protected releases as immutable, signed files, and their use on a machine that has nothing else.

publishing.publish(doors, "census", place, key)     through a `Door`: a release is all that it can reach
doors.open_publication(place, public_key)           the same doors again, without records, keys or a secret
"""
