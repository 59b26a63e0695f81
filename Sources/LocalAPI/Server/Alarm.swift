internal import NIOCore

/// Closes a connection at a deadline, which may be moved as often as one likes.
///
/// To move it costs nothing: whatever is scheduled looks when it runs whether the time has come.
final class Alarm {
    private var deadline: NIODeadline?
    private var scheduled: (time: NIODeadline, task: Scheduled<Void>)?

    /// Closes the connection at a time, and not before.
    ///
    /// It is called on the event loop of the channel, as all of this is.
    func arm(_ deadline: NIODeadline, _ channel: any Channel) {
        self.deadline = deadline
        if let scheduled = self.scheduled {
            guard deadline < scheduled.time else { return }
            scheduled.task.cancel()
        }
        self.schedule(deadline, channel)
    }

    /// Leaves the connection open until the next ``arm(_:_:)``.
    func disarm() { self.deadline = nil }

    /// Leaves the connection alone from now on.
    func end() {
        self.deadline = nil
        self.scheduled?.task.cancel()
        self.scheduled = nil
    }

    private func schedule(_ time: NIODeadline, _ channel: any Channel) {
        let task = channel.eventLoop.assumeIsolated().scheduleTask(deadline: time) {
            self.scheduled = nil
            guard let deadline = self.deadline else { return }
            if deadline <= .now() { channel.close(promise: nil) } else { self.schedule(deadline, channel) }
        }
        self.scheduled = (time, task)
    }
}
