package com.example;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.spring.testing.SluiceTesting;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Import;

@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
@Import(SluiceTesting.class) // time stands still
class HelloControllerTest {
  private final HttpClient client = HttpClient.newHttpClient();

  @Value("${local.server.port}")
  private int port;

  @Test
  void fourthRequestOfAMinuteIsRefused() throws Exception {
    assertThat(hello().statusCode()).isEqualTo(200);
    assertThat(hello().statusCode()).isEqualTo(200);
    assertThat(hello().statusCode()).isEqualTo(200);

    HttpResponse<String> fourth = hello();

    assertThat(fourth.statusCode()).isEqualTo(429);
    assertThat(fourth.headers().firstValue("Retry-After")).contains("60");
  }

  private HttpResponse<String> hello() throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + port + "/hello");
    return client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
  }
}
