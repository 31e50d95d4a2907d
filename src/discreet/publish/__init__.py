"""Publishing: protected releases as immutable, signed files, and their use on a machine that has nothing else.

publishing.publish(registry, "census", place, key)     through a `Dataset service`: a release is all that it can reach
registry.PublishedRegistry(place, public_key)          the same registry again, without records, keys or a secret
"""
