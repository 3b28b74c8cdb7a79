package dev.replayd.example;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.OneofDescriptor;
import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import dev.replayd.v1.EndReason;
import dev.replayd.v1.EventBatch;
import dev.replayd.v1.EventFilter;
import dev.replayd.v1.ReplayServiceGrpc;
import dev.replayd.v1.Start;
import dev.replayd.v1.StreamEventsRequest;
import dev.replayd.v1.StreamEventsResponse;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;

/**
 * Prints the events of a replay, one per line: sequence number, tick, kind and content.
 *
 * <pre>Events [--cursor FILE] [--batches N] ADDRESS REPLAY [KIND...]</pre>
 *
 * It uses only the .proto files of replayd. After each response that is printed, it stores the response's cursor in the file.
 * It starts at that cursor when it is called again, and when the connection breaks. With --batches it stops after so many
 * batches of events.
 */
final class Events {
  private static final PrintStream out =
      new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)), false, StandardCharsets.UTF_8);
  private static final TextFormat.Printer oneLine = TextFormat.printer().emittingSingleLine(true);

  private final StreamEventsRequest.Builder request = StreamEventsRequest.newBuilder();
  private Path cursorFile;
  private long batches = Long.MAX_VALUE;

  public static void main(String[] args) throws Exception {
    Events events = new Events();
    Deque<String> words = new ArrayDeque<>(List.of(args));
    while (words.size() > 1 && words.peek().startsWith("--")) {
      switch (words.pop()) {
        case "--cursor" -> events.cursorFile = Path.of(words.pop());
        case "--batches" -> events.batches = Long.parseLong(words.pop());
        default -> words.clear();
      }
    }
    if (words.size() < 2) {
      fail("usage: Events [--cursor FILE] [--batches N] ADDRESS REPLAY [KIND...]");
    }
    String address = words.pop();
    events.request.setReplay(words.pop());
    if (!words.isEmpty()) {
      events.request.addInclude(EventFilter.newBuilder().addAllKinds(words));
    }
    if (events.cursorFile != null && Files.exists(events.cursorFile)) {
      events.startAt(ByteString.copyFrom(Files.readAllBytes(events.cursorFile)));
    }
    for (int tries = 0; ; tries++) {
      try {
        events.stream(address);
        return;
      } catch (StatusRuntimeException e) {
        Status status = e.getStatus();
        // A broken stream that has begun can be resumed. Other errors are permanent.
        if (status.getCode() != Status.Code.UNAVAILABLE || !events.request.hasStart() || tries == 100) {
          fail(status.getCode() + ": " + status.getDescription());
        }
        System.err.println(status.getDescription() + ": trying again");
        Thread.sleep(300);
      }
    }
  }

  private static void fail(String message) {
    System.err.println(message);
    System.exit(1);
  }

  private void startAt(ByteString cursor) {
    request.setStart(Start.newBuilder().setCursor(cursor));
  }

  /** Streams until the end. It updates the request so that the next call resumes where this one stopped. */
  private void stream(String address) throws IOException {
    ManagedChannel channel = ManagedChannelBuilder.forTarget(address).usePlaintext().build();
    try {
      Iterator<StreamEventsResponse> responses = ReplayServiceGrpc.newBlockingStub(channel).streamEvents(request.build());
      while (batches > 0 && responses.hasNext()) {
        StreamEventsResponse response = responses.next();
        switch (response.getResponseCase()) {
          case START -> System.err.println("streaming " + response.getStart().getReplay().getName());
          case BATCH -> {
            print(response.getBatch());
            batches--;
          }
          case END -> System.err.println(response.getEnd().getReason() + ": " + response.getEnd().getEventsSent() + " events");
          default -> {} // a heartbeat, a follow status, or a response of a later version
        }
        if (!response.getCursor().isEmpty()) {
          store(response.getCursor());
        }
        if (response.hasEnd() && response.getEnd().getReason() != EndReason.END_REASON_SERVER_DRAINING) {
          return;
        }
      }
      if (batches > 0) {
        throw Status.UNAVAILABLE.withDescription("the stream stopped before the end").asRuntimeException();
      }
    } finally {
      channel.shutdownNow();
    }
  }

  /** Stores where to resume, once everything before is written. */
  private void store(ByteString cursor) throws IOException {
    if (out.checkError()) { // it also flushes
      throw new IOException("the standard output cannot be written");
    }
    startAt(cursor);
    if (cursorFile != null) { // replaced as a whole, so that it is never half a cursor
      Path next = Path.of(cursorFile + ".next");
      Files.write(next, cursor.toByteArray());
      Files.move(next, cursorFile, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  /** Prints the events of a batch. Each format has its own event message, and each has at_tick and kind. */
  private static void print(EventBatch batch) {
    FieldDescriptor format = setIn(batch, "events");
    if (format == null) {
      System.err.println("events of a format that is newer than this program");
      return;
    }
    Message list = (Message) batch.getField(format);
    long sequence = batch.getFirstSequence();
    for (Object element : (List<?>) list.getField(list.getDescriptorForType().findFieldByName("events"))) {
      Message event = (Message) element;
      Object tick = event.getField(event.getDescriptorForType().findFieldByName("at_tick"));
      FieldDescriptor kind = setIn(event, "kind");
      String content = "of a kind that is newer than this program";
      if (kind != null) {
        content = kind.getName() + " {" + oneLine.printToString((Message) event.getField(kind)).strip() + "}";
      }
      out.println(Long.toUnsignedString(sequence++) + " " + tick + " " + content);
    }
  }

  /** Returns the field that is set in a oneof, or null. */
  private static FieldDescriptor setIn(Message message, String oneof) {
    for (OneofDescriptor each : message.getDescriptorForType().getOneofs()) {
      if (each.getName().equals(oneof)) {
        return message.getOneofFieldDescriptor(each);
      }
    }
    return null;
  }
}
