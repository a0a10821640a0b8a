package com.example;

import dev.sluice.spring.RateLimit;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

@RestController
class HelloController {
  @GetMapping("/hello")
  @RateLimit("Hello")
  public Mono<String> hello() {
    return Mono.just("hello");
  }
}
