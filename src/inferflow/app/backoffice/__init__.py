"""What stands behind the gateway's management routes: `api.gateway.management.ports`, kept.

- `office`: all of it, put together for a process
- `bench`: what configs and requests are tried on; `folder_bench`: the same for a process that
  serves none of the project
- `configs`, `trying`, `plan_document`: configs as they are, were and might be, how they answer, and
  what they compile to
- `playground`, `overriding`, `what_if`, `other_versions`, `grown`: scoring without a trace
- `pages`: what servers tell about configs and recordings
- `fleet`, `features`, `logs`, `settings_page`: one subject each
- `live`, `sampling`, `happenings`: numbers once per second, and events

Whatever may wait is done in a thread; the event loop is for callers.
"""
