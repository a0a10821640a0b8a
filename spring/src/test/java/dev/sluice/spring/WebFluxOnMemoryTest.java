package dev.sluice.spring;

import org.springframework.boot.WebApplicationType;

class WebFluxOnMemoryTest extends EdgeContract {
  @Override
  App start() {
    return App.start(WebApplicationType.REACTIVE, Shop.WebFlux.class, Shop.on("memory"));
  }
}
