"""The way to a manager, for its workers and for those who administrate it.

- `calls`: calls to one of several managers, from threads that wait; `failures`: what a status means
- `admin`: what administrators ask; `uploading`: files on their way in; `plain`: answers as values
- `orders`: what a manager tells a worker; `link`: keeps a worker in the fleet
- `source`: a worker's models, fetched when they are needed
"""
