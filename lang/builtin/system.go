package builtin

import (
	"os"
	"os/user"
	"runtime"
	"strconv"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// osRows is the namespace os: facts about the process that runs the session
// and its machine.
func osRows() []memberRow {
	return []memberRow{
		{"os", "platform()", "The operating system: linux or macos.", osPlatform},
		{"os", "arch()", "The processor: x86_64 or aarch64.", osArch},
		{"os", "pid()", "The id of the process that runs the session.", osPid},
		{"os", "hostname()", "The machine's name.", osHostname},
		{"os", "username()", "The user's name.", osUsername},
		{"os", "cpus()", "How many processors there are.", osCPUs},
		{"os", "uptime()", "How long the machine has been running.", osUptime},
		{"os", "env()", "The session's environment as a record.", osEnv},
	}
}

func osPlatform(*interp.Call, []value.Value) (value.Value, error) {
	if runtime.GOOS == "darwin" {
		return value.Str("macos"), nil
	}
	return value.Str(runtime.GOOS), nil
}

func osArch(*interp.Call, []value.Value) (value.Value, error) {
	switch runtime.GOARCH {
	case "amd64":
		return value.Str("x86_64"), nil
	case "arm64":
		return value.Str("aarch64"), nil
	}
	return value.Str(runtime.GOARCH), nil
}

func osPid(*interp.Call, []value.Value) (value.Value, error) {
	return value.Int(int64(os.Getpid())), nil
}

func osHostname(c *interp.Call, _ []value.Value) (value.Value, error) {
	name, err := os.Hostname()
	return value.Str(name), hostErr(c, err)
}

// osUsername is the account's name, or the uid of a user without account.
func osUsername(*interp.Call, []value.Value) (value.Value, error) {
	uid := strconv.Itoa(os.Getuid())
	u, err := user.LookupId(uid)
	if err != nil {
		return value.Str(uid), nil
	}
	return value.Str(u.Username), nil
}

func osCPUs(*interp.Call, []value.Value) (value.Value, error) {
	return value.Int(int64(runtime.NumCPU())), nil
}

func osUptime(c *interp.Call, _ []value.Value) (value.Value, error) {
	d, err := uptime()
	return value.Duration(d), hostErr(c, err)
}

func osEnv(c *interp.Call, _ []value.Value) (value.Value, error) { return environment(c.M), nil }
