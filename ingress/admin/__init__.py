"""The admin port: health, readiness, metrics, and the live picture of what is served.

    port/                   how pages are asked for: who may, how many, for how long
      │
    table.py                which pages there are
      ├──▶ pages/               those about the process as a whole, and those that are made of the table
      │      │
      ├──▶ lists/               those that list what is served and what happened
      ▼
    contract/               what each page is made of, and how it is described

Nothing is changed by any page.
"""
