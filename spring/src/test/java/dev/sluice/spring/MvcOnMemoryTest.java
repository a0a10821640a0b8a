package dev.sluice.spring;

import org.springframework.boot.WebApplicationType;

class MvcOnMemoryTest extends EdgeContract {
  @Override
  App start() {
    return App.start(WebApplicationType.SERVLET, Shop.Mvc.class, Shop.on("memory"));
  }
}
