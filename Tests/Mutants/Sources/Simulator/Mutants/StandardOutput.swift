import Glibc

/// Where results go: at once, so that a pipe has them as they come.
enum StandardOutput {
    static func write(_ line: String) {
        print(line)
        fflush(nil)
    }
}
