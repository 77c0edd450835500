-- Lakeside Tea: a small company that sells tea, in 90 days of orders. Everything follows from the numbers of rows, so
-- that two of them made on one day are the same; `{today}` is that day, and no order is of it.

-- What it takes in --------------------------------------------------------------------------------------------------

CREATE TABLE ods_customers (
    customer_id INTEGER PRIMARY KEY,
    customer_name TEXT NOT NULL,
    city TEXT NOT NULL,
    member_level TEXT NOT NULL,
    registered_at TEXT NOT NULL
);

CREATE TABLE ods_products (
    product_id INTEGER PRIMARY KEY,
    product_name TEXT NOT NULL,
    product_name_zh TEXT NOT NULL,
    category TEXT NOT NULL,
    price REAL NOT NULL
);

CREATE TABLE ods_orders (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES ods_customers (customer_id),
    order_status TEXT NOT NULL,
    channel TEXT NOT NULL,
    order_amount REAL NOT NULL,
    ordered_at TEXT NOT NULL
);

CREATE TABLE ods_order_items (
    order_item_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES ods_orders (order_id),
    product_id INTEGER NOT NULL REFERENCES ods_products (product_id),
    quantity INTEGER NOT NULL,
    unit_price REAL NOT NULL
);

CREATE INDEX ods_orders_by_customer ON ods_orders (customer_id);
CREATE INDEX ods_order_items_by_order ON ods_order_items (order_id);

-- What its workflows make of that -----------------------------------------------------------------------------------

CREATE TABLE dwd_order_details (
    order_item_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES ods_orders (order_id),
    customer_id INTEGER NOT NULL REFERENCES ods_customers (customer_id),
    product_id INTEGER NOT NULL REFERENCES ods_products (product_id),
    order_date TEXT NOT NULL,
    category TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    sales_amount REAL NOT NULL
);

CREATE TABLE dws_daily_sales (
    sales_date TEXT NOT NULL,
    category TEXT NOT NULL,
    order_count INTEGER NOT NULL,
    pieces INTEGER NOT NULL,
    revenue REAL NOT NULL,
    PRIMARY KEY (sales_date, category)
);

CREATE TABLE dws_customer_sales (
    customer_id INTEGER NOT NULL REFERENCES ods_customers (customer_id),
    sales_month TEXT NOT NULL,
    order_count INTEGER NOT NULL,
    revenue REAL NOT NULL,
    PRIMARY KEY (customer_id, sales_month)
);

CREATE TABLE ads_city_sales (
    sales_month TEXT NOT NULL,
    city TEXT NOT NULL,
    buyers INTEGER NOT NULL,
    order_count INTEGER NOT NULL,
    revenue REAL NOT NULL,
    PRIMARY KEY (sales_month, city)
);

CREATE TABLE ads_product_ranking (
    sales_month TEXT NOT NULL,
    place INTEGER NOT NULL,
    product_id INTEGER NOT NULL REFERENCES ods_products (product_id),
    revenue REAL NOT NULL,
    PRIMARY KEY (sales_month, place)
);

-- 300 customers in 8 cities; the last 40 came within the last 60 days ----------------------------------------------

INSERT INTO ods_customers
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 300),
cities (first, last, city) AS (
    VALUES (0, 23, 'Beijing'), (24, 45, 'Shanghai'), (46, 58, 'Guangzhou'), (59, 70, 'Shenzhen'), (71, 79, 'Hangzhou'),
        (80, 87, 'Chengdu'), (88, 94, 'Wuhan'), (95, 99, 'Nanjing')
),
families (n, family) AS (
    VALUES (0, '王'), (1, '李'), (2, '张'), (3, '刘'), (4, '陈'), (5, '杨'), (6, '黄'), (7, '赵'), (8, '吴'), (9, '周'),
        (10, '徐'), (11, '孙'), (12, '马'), (13, '朱'), (14, '胡'), (15, '林'), (16, '郭'), (17, '何'), (18, '高'),
        (19, '罗')
),
given (n, given) AS (
    VALUES (0, '伟'), (1, '芳'), (2, '娜'), (3, '敏'), (4, '静'), (5, '强'), (6, '磊'), (7, '洋'), (8, '艳'), (9, '勇'),
        (10, '杰'), (11, '涛'), (12, '明'), (13, '秀英'), (14, '霞')
)
SELECT numbers.n, family || given, city,
    CASE WHEN numbers.n <= 30 THEN 'gold' WHEN numbers.n <= 110 THEN 'silver' ELSE 'basic' END,
    datetime('{today}', '-' || CASE WHEN numbers.n > 260 THEN 1 + (300 - numbers.n) * 3 / 2
        ELSE 91 + numbers.n * 137 % 600 END || ' days', (8 * 60 + numbers.n * 53 % 720) || ' minutes')
FROM numbers
JOIN cities ON numbers.n * 61 % 100 BETWEEN cities.first AND cities.last
JOIN families ON families.n = numbers.n % 20
JOIN given ON given.n = (numbers.n - 1) / 20
ORDER BY numbers.n;

INSERT INTO ods_products VALUES
    (1, 'Longjing', '龙井', 'green tea', 168), (2, 'Biluochun', '碧螺春', 'green tea', 148),
    (3, 'Huangshan Maofeng', '黄山毛峰', 'green tea', 128), (4, 'Taiping Houkui', '太平猴魁', 'green tea', 188),
    (5, 'Anji Bai Cha', '安吉白茶', 'green tea', 158), (6, 'Keemun', '祁门红茶', 'black tea', 118),
    (7, 'Dianhong', '滇红', 'black tea', 98), (8, 'Lapsang Souchong', '正山小种', 'black tea', 138),
    (9, 'Jin Jun Mei', '金骏眉', 'black tea', 268), (10, 'Yingde Black', '英德红茶', 'black tea', 88),
    (11, 'Da Hong Pao', '大红袍', 'oolong', 228), (12, 'Tieguanyin', '铁观音', 'oolong', 136),
    (13, 'Dancong', '凤凰单丛', 'oolong', 156), (14, 'Dongding', '冻顶乌龙', 'oolong', 146),
    (15, 'Rou Gui', '肉桂', 'oolong', 198), (16, 'Glass Pot', '玻璃壶', 'teaware', 89),
    (17, 'Gaiwan', '盖碗', 'teaware', 69), (18, 'Yixing Pot', '紫砂壶', 'teaware', 358),
    (19, 'Tasting Cups', '品茗杯', 'teaware', 49), (20, 'Tea Tray', '茶盘', 'teaware', 219),
    (21, 'Green Bean Cake', '绿豆糕', 'snacks', 29), (22, 'Osmanthus Cake', '桂花糕', 'snacks', 32),
    (23, 'Melon Seeds', '瓜子', 'snacks', 18), (24, 'Dried Plums', '话梅', 'snacks', 22);

-- 90 days of orders: a little more each week, and more on weekends -------------------------------------------------

INSERT INTO ods_orders
WITH RECURSIVE days (ago) AS (SELECT 90 UNION ALL SELECT ago - 1 FROM days WHERE ago > 1),
sizes (ago, size) AS (
    SELECT ago, 50 + (90 - ago) / 6 + ago * 37 % 13
        + CASE WHEN strftime('%w', '{today}', '-' || ago || ' days') IN ('0', '6') THEN 18 ELSE 0 END
    FROM days
),
places (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM places WHERE n < 100),
orders (order_id, ago, n) AS (
    SELECT row_number() OVER (ORDER BY ago DESC, n), ago, n FROM sizes JOIN places ON n <= size
),
buyers (order_id, ago, n, buyer) AS (
    SELECT order_id, ago, n, 1 + (order_id * 7919 % 300) * (200 + order_id * 104729 % 101) / 300 FROM orders
)
SELECT order_id,
    -- Nobody buys before he came.
    CASE WHEN buyer > 260 AND ago > (300 - buyer) * 3 / 2 THEN buyer - 200 ELSE buyer END,
    CASE WHEN order_id * 31 % 100 < 7 THEN 'cancelled' WHEN order_id * 31 % 100 < 10 THEN 'refunded'
        WHEN ago <= 3 THEN 'paid' ELSE 'shipped' END,
    CASE WHEN order_id * 17 % 10 < 5 THEN 'app' WHEN order_id * 17 % 10 < 8 THEN 'web' ELSE 'store' END,
    0,
    datetime('{today}', '-' || ago || ' days', (8 * 60 + n * 797 % 840) || ' minutes', (order_id * 29 % 60) || ' seconds')
FROM buyers;

INSERT INTO ods_order_items
WITH lines (line) AS (VALUES (1), (2), (3), (4)),
wanted (order_id, line, product_id, quantity) AS (
    SELECT order_id, line, 1 + (order_id * 13 + line * 7 + order_id * line * 5) % 97 * (order_id * 3 + line) % 24,
        1 + (order_id * 11 + line * 3) % 5 / 2
    FROM ods_orders JOIN lines ON line <= 1 + order_id * 7 % 10 / 3
)
SELECT row_number() OVER (ORDER BY order_id, line), order_id, product_id, quantity, price
FROM wanted JOIN ods_products USING (product_id);

UPDATE ods_orders SET order_amount =
    (SELECT sum(quantity * unit_price) FROM ods_order_items WHERE ods_order_items.order_id = ods_orders.order_id);

-- As the workflows would have left it this morning -----------------------------------------------------------------

INSERT INTO dwd_order_details
SELECT order_item_id, order_id, customer_id, product_id, date(ordered_at), category, quantity, quantity * unit_price
FROM ods_order_items JOIN ods_orders USING (order_id) JOIN ods_products USING (product_id)
WHERE order_status IN ('paid', 'shipped');

INSERT INTO dws_daily_sales
SELECT order_date, category, count(DISTINCT order_id), sum(quantity), sum(sales_amount)
FROM dwd_order_details GROUP BY order_date, category;

INSERT INTO dws_customer_sales
SELECT customer_id, substr(order_date, 1, 7), count(DISTINCT order_id), sum(sales_amount)
FROM dwd_order_details GROUP BY customer_id, substr(order_date, 1, 7);

INSERT INTO ads_city_sales
SELECT sales_month, city, count(*), sum(order_count), sum(revenue)
FROM dws_customer_sales JOIN ods_customers USING (customer_id) GROUP BY sales_month, city;

INSERT INTO ads_product_ranking
SELECT sales_month, row_number() OVER (PARTITION BY sales_month ORDER BY revenue DESC, product_id), product_id, revenue
FROM (
    SELECT substr(order_date, 1, 7) AS sales_month, product_id, sum(sales_amount) AS revenue
    FROM dwd_order_details GROUP BY 1, 2
);
