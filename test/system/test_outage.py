"""Without Postgres: every answer says so in words for customers, and nothing of how the services reach it."""

import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor

from harness import ARTICLE_PRODUCT, PORT_BASE, SystemTest


class Outage(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.product = cls.stack.product("atomic", 10)
        cls.order = cls.stack.order(cls.product).json["order_id"]
        assert cls.stack.order(cls.product).status == 201  # so that both instances know the product
        cls.stack.kill("postgres")

    def assert_discreet(self, answer):
        self.assertIn(answer.status, [503, 504], answer.text)
        message = answer.json["message"]
        self.assertRegex(message, "(?i)database|unit|sold|inventory")
        for secret in ["127.0.0.1", "localhost", str(PORT_BASE + 90), "_svc", "password", "socket", "server at"]:
            self.assertNotIn(secret, message)

    def requests(self):
        order = {"order_id": str(uuid.uuid4())}
        yield "POST", "/orders", {"product_id": self.product}, "order-svc"
        yield "POST", "/orders", {"product_id": str(uuid.uuid4())}, "order-svc"
        yield "GET", f"/orders/{self.order}", None, "order-svc"
        yield "GET", f"/products/{self.product}", None, "order-svc"
        for instance in ["inventory-1", "inventory-2"]:
            yield "POST", f"/products/{self.product}/reservations", order, instance
            yield "DELETE", f"/reservations/{self.order}", None, instance
            yield "POST", "/reservations/confirmations", {"order_ids": [self.order]}, instance
            yield "GET", "/reservations?since_ms=0", None, instance

    def test_customers_learn_nothing_of_the_connection(self):
        for _ in range(2):  # in the first round connections break, in the second there are none
            with ThreadPoolExecutor(10) as pool:
                for answer in pool.map(lambda request: self.stack.ask_ledger(*request), self.requests()):
                    self.assert_discreet(answer)
        self.assertRegex(self.stack.log("order-svc"), r"orders database.*127\.0\.0\.1")  # what the log has

    def test_the_article_s_path_answers_in_its_words(self):
        answer = self.stack.ask("POST", f"/order/placeAnOrder?inventoryId={ARTICLE_PRODUCT}")
        self.assertEqual((answer.status, answer.text), (503, "下单失败....\n"))


if __name__ == "__main__":
    unittest.main()
