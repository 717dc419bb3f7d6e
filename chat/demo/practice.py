"""Five small modules to practise on: what each says at first, and what is better."""

from __future__ import annotations

from dataclasses import dataclass

OLD_RESTOCK = '''def restock(shelf, name, count):
    """Old: adds without a limit."""
    shelf[name] = shelf.get(name, 0) + count
    return shelf


'''
NEW_RESTOCK = '''def restock(shelf, name, count, limit=100):
    """New: never more than the limit."""
    shelf[name] = min(shelf.get(name, 0) + count, limit)
    return shelf
'''


@dataclass(frozen=True)
class Module:
    """A module: what stays, what is replaced and by what (nothing: the person decides), and why."""

    name: str
    head: str
    before: str
    after: str = ""
    english: str = ""
    chinese: str = ""

    @property
    def source(self) -> str:
        """The module before the work."""
        return f"{self.head}{self.before}"


_CART = Module(
    "cart.py",
    '''"""What a customer is about to buy."""


def add(cart, name, count):
''',
    """    if name in cart:
        cart[name] = cart[name] + count
    else:
        cart[name] = count
    return cart
""",
    """    cart[name] = cart.get(name, 0) + count
    return cart
""",
    "four lines became one",
    "四行变成一行",
)
_PRICES = Module(
    "prices.py",
    '"""What things cost."""\n\n',
    """
def tax(price):
    return price * 0.19


def with_tax(price):
    return price * 1.19
""",
    """TAX = 0.19


def tax(price):
    return price * TAX


def with_tax(price):
    return price + tax(price)
""",
    "the tax rate is now a named constant",
    "税率改为具名常量，只写一次",
)
_STOCK = Module("stock.py", '"""What is on the shelf."""\n\n\n', OLD_RESTOCK + NEW_RESTOCK)
_ORDERS = Module(
    "orders.py",
    '''"""What has been ordered."""


def ready(order):
''',
    """    if order["paid"]:
        if order["packed"]:
            return True
        else:
            return False
    else:
        return False
""",
    """    return bool(order["paid"] and order["packed"])
""",
    "the nested branches became one expression",
    "嵌套的分支合并为一个表达式",
)
_REPORT = Module(
    "report.py",
    '''"""What the shop tells its owner."""


def report(names):
''',
    """    text = ""
    for name in names:
        text = text + name + "\\n"
    return text
""",
    """    return "".join(f"{name}\\n" for name in names)
""",
    "uses join() instead of +",
    "用 join() 代替 +",
)

MODULES = (_CART, _PRICES, _STOCK, _ORDERS, _REPORT)
