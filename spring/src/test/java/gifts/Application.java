package gifts;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Stands for the application of whoever reads docs/guides/testing.md. */
@SpringBootApplication
class Application {}
