// Starts the Vendure that npm installed in the working folder, for vendure.shop: its defaults, Postgres, and a payment method that
// accepts each payment at once.
// Usage: VENDURE_DB=postgresql://... [PORT=9701] node server.js [populate]
//   populate   makes the tables and the settings of an empty database, and ends
// GET /version tells its version.
process.env.VENDURE_DISABLE_TELEMETRY = 'true'; // it sends no figures to its makers
const installed = require('node:module').createRequire(`${process.cwd()}/package.json`);
const { bootstrap, dummyPaymentHandler, DefaultLogger, LanguageCode, LogLevel, VENDURE_VERSION } = installed('@vendure/core');
const { populate } = installed('@vendure/core/cli');

const isPopulating = process.argv[2] === 'populate';

const config = {
    apiOptions: {
        port: Number(process.env.PORT || 9701),
        hostname: '127.0.0.1',
        adminApiPath: 'admin-api',
        shopApiPath: 'shop-api',
        middleware: [{ route: 'version', handler: (request, response) => response.send(VENDURE_VERSION) }],
    },
    authOptions: {
        tokenMethod: ['bearer', 'cookie'],
        requireVerification: false,
        superadminCredentials: { identifier: 'superadmin', password: 'superadmin' },
        cookieOptions: { secret: 'of a test' },
    },
    dbConnectionOptions: {
        type: 'postgres',
        url: process.env.VENDURE_DB,
        synchronize: isPopulating,
        logging: false,
        migrations: [],
        poolSize: 20,
    },
    paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
    plugins: [],
    logger: new DefaultLogger({ level: LogLevel.Error }),
};

const settings = {
    defaultLanguage: LanguageCode.en,
    defaultZone: 'Europe',
    countries: [{ name: 'Austria', code: 'AT', zone: 'Europe' }],
    taxRates: [{ name: 'Standard', percentage: 20 }],
    shippingMethods: [{ name: 'Standard', price: 500 }],
    paymentMethods: [{
        name: 'Standard Payment', // its code is standard-payment
        handler: { code: dummyPaymentHandler.code, arguments: [{ name: 'automaticSettle', value: 'true' }] },
    }],
    collections: [],
    roles: [],
};

async function main() {
    if (isPopulating) {
        const app = await populate(() => bootstrap(config), settings);
        await app.close();
        process.exit(0);
    }
    await bootstrap(config);
    console.log(`Vendure ${VENDURE_VERSION} listens on http://127.0.0.1:${config.apiOptions.port}`);
}

main().catch(error => {
    console.error(error);
    process.exit(1);
});
